#pragma once
// A check of problems without a contraction, against the interpreter.

#include <map>

#include "targets/cpu/loop/kernel.hpp"
#include "tests/avx512/check.hpp"
#include "tests/support/problems/problem_builder.hpp"

namespace dyn::avx512_check {

class LoopCheck : public Check {
 public:
  LoopCheck(std::string name, const codegen::Isa& isa) : Check(std::move(name)), isa_(isa) {}

  /// One problem, with inputs random by `seed`, except for those `given`.
  void add(std::unique_ptr<testing::ProblemBuilder> builder, unsigned seed, double tolerance,
           bool specials = false, std::map<int, std::vector<std::uint8_t>> given = {});

  std::vector<codegen::KernelSource> sources() const override;
  void run(std::span<void* const> addresses) override;

 protected:
  using Contents = std::vector<std::vector<std::uint8_t>>;
  struct Item {
    std::unique_ptr<testing::ProblemBuilder> builder;
    cpu::LoopKernel::Draft draft;  ///< empty after run()
    std::vector<codegen::KernelSource> sources;
    unsigned seed;
    double tolerance;
    bool specials;
    std::map<int, std::vector<std::uint8_t>> given;
  };
  /// Throws Failure where the buffers differ from the expected ones.
  virtual void compare(const Item& item, const Contents& got, const Contents& wanted) const;

 private:
  static void run_item(const LoopCheck& check, Item& item, std::span<void* const> addresses);

  const codegen::Isa& isa_;
  std::vector<Item> items_;
};

}  // namespace dyn::avx512_check
