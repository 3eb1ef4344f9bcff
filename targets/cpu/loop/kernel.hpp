#pragma once
// Kernels of problems without a contraction: element-wise work, reductions, softmax, normalisation,
// gathers, copies.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/cost/machine.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/cpu/loop/class.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"

namespace dyn::cpu {

struct LoopCost;

/// One problem with all its shape classes. plan() evaluates the slots and picks the class by the
/// strides' values.
class LoopKernel : public rkernel::Kernel {
 public:
  using Draft = codegen::KernelDraft<LoopKernel, void*>;
  /// Throws Error(unsupported) for dtypes without code generation.
  static Draft draft(const rkernel::Problem& problem, const codegen::Isa& isa,
                     std::shared_ptr<const choice::Machine> machine);

  /// The manifest: one source for each class that a shape can need, then one for the second stage
  /// of each, where there is one.
  std::vector<codegen::KernelSource> sources() const;

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override;
  std::string explain(const rkernel::PlanRequest& request) const override;
  std::vector<rkernel::CodeListing> listings_at(const rkernel::PlanRequest& request) const override;
  std::string target_name() const override;
  std::string describe() const override;

 private:
  friend Draft;
  LoopKernel(const rkernel::Problem& problem, const codegen::Isa& isa,
             std::shared_ptr<const choice::Machine> machine);
  void take_code(std::vector<void*> functions) { functions_ = std::move(functions); }
  std::size_t class_for(std::span<const std::int64_t> ints) const;
  void fill_slices(std::size_t chosen, const LoopCost& cost, rkernel::Launch& launch) const;

  std::shared_ptr<const LoopProblem> problem_;
  std::shared_ptr<const choice::Machine> machine_;
  std::vector<LoopClass> classes_;
  std::vector<void*> functions_;  ///< of sources()
};

}  // namespace dyn::cpu
