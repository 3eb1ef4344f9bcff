#pragma once
// dyn-avx512-check generates kernels for one instruction set, and checks each at small problems
// against plain loops in double. Generating them needs no CPU of that kind; running them needs one,
// real or emulated.

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::avx512_check {

/// A check throws this where it finds an error.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Kernels, and the problems to run them at.
class Check {
 public:
  explicit Check(std::string name) : name_(std::move(name)) {}
  virtual ~Check() = default;
  const std::string& name() const { return name_; }

  /// All code that run() needs; valid while the check lives.
  virtual std::vector<codegen::KernelSource> sources() const = 0;
  /// `addresses` are those of sources(), in that order. Throws Failure.
  virtual void run(std::span<void* const> addresses) = 0;

 private:
  std::string name_;
};

using Checks = std::vector<std::unique_ptr<Check>>;

/// Contractions in every form, by every main loop.
void add_contraction_checks(Checks& checks, const codegen::Isa& isa, std::uint64_t seed);
/// Main loops over groups of narrow elements, of those that the CPU has an instruction for.
void add_group_checks(Checks& checks, const codegen::Isa& isa, std::uint64_t seed);
/// Element-wise work, reductions, softmax, layer norm, gathers, transpositions, padding; random
/// problems.
void add_loop_checks(Checks& checks, const codegen::Isa& isa, std::uint64_t seed);
/// Mathematical functions over all floats.
void add_math_checks(Checks& checks, const codegen::Isa& isa);

/// Writes DIRECTORY/ROWSxCOLUMNS.s for each main loop.
void write_assembly(const codegen::Isa& isa, const std::string& directory);

}  // namespace dyn::avx512_check
