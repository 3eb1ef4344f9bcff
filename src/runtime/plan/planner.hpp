#pragma once
// Makes plans: output shapes, buffer places, one launch for each kernel.

#include <memory>
#include <span>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/runtime/plan/plan.hpp"
#include "src/runtime/plan/wiring.hpp"

namespace dyn::runtime {

class Planner {
 public:
  /// `kernels`, their `target`, and `module` must outlive the planner.
  Planner(const graph::Module& module, const Wiring& wiring,
          std::span<const std::unique_ptr<rkernel::Kernel>> kernels, const rkernel::Target& target,
          int threads);

  /// Plans of output shapes alone, for a run without kernels.
  explicit Planner(const graph::Module& module);

  /// Thread-safe. Throws Error(user) where sizes overflow, and what Target::load() throws.
  PlanPtr make(std::span<const std::int64_t> symbols) const;
  std::vector<Shape> output_shapes(std::span<const std::int64_t> symbols) const;

 private:
  Planner(const graph::Module& module, const Wiring& wiring,
          std::span<const std::unique_ptr<rkernel::Kernel>> kernels, const rkernel::Target* target,
          int threads);
  /// A value's dims as slots of the program, and its element type in memory.
  struct Sized {
    graph::ValueId value;
    DType dtype;
    std::vector<int> slots;
  };
  Sized sized(graph::ValueId value, DType dtype);
  std::vector<std::int64_t> evaluate(std::span<const std::int64_t> symbols) const;
  std::vector<const void*> device_functions(const Plan& plan) const;
  std::vector<Shape> shapes_of_outputs(std::span<const std::int64_t> values) const;
  std::size_t bytes_of(const Sized& buffer, std::span<const std::int64_t> values) const;
  std::vector<std::size_t> bytes_of_all(std::span<const Sized> buffers,
                                        std::span<const std::int64_t> values) const;

  const graph::Module& module_;
  const Wiring& wiring_;
  std::span<const std::unique_ptr<rkernel::Kernel>> kernels_;
  const rkernel::Target* target_;  ///< nullptr where there are no kernels
  int threads_;
  graph::DimProgram program_;
  std::vector<Sized> outputs_, buffers_, device_buffers_;
};

}  // namespace dyn::runtime
