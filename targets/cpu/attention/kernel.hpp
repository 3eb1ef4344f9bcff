#pragma once
// Kernels of fused attention: planned by the cost model at each new shape.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/cost/attention_cost.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/cpu/attention/choices.hpp"
#include "targets/cpu/attention/emitter.hpp"
#include "targets/cpu/contraction/kernel.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"

namespace dyn::cpu {

class AttentionKernel final : public rkernel::Kernel {
 public:
  using Draft = codegen::KernelDraft<AttentionKernel, void*>;
  /// Throws Error(unsupported) for operands that are not f32.
  static Draft draft(const rkernel::Problem& problem,
                     std::shared_ptr<const ContractionContext> context,
                     std::shared_ptr<const AttentionChoices> choices);

  /// For each class its kernel; the merges of all lane classes after them.
  std::vector<codegen::KernelSource> sources() const;

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override;
  /// Dyn's; no paper defines attention.
  rkernel::Choices choices(const rkernel::PlanRequest& request,
                           rkernel::Policy policy) const override;
  void choose_only(const rkernel::PlanRequest& request, rkernel::Policy policy,
                   bool remembered) const override;
  std::string explain(const rkernel::PlanRequest& request) const override;
  std::vector<rkernel::CodeListing> listings_at(const rkernel::PlanRequest& request) const override;
  std::string target_name() const override { return "cpu/" + context_->isa().name; }
  std::string describe() const override;

  choice::AttentionShape shape(std::span<const std::int64_t> symbols) const;
  /// A launch by a strategy that the cost model did not choose; every legal one gives the same
  /// result but for rounding.
  rkernel::Launch plan_with(std::span<const std::int64_t> symbols,
                            const choice::AttentionStrategy& strategy) const;

 private:
  friend Draft;
  AttentionKernel(const rkernel::Problem& problem,
                  std::shared_ptr<const ContractionContext> context,
                  std::shared_ptr<const AttentionChoices> choices);
  void take_code(std::vector<void*> functions) { functions_ = std::move(functions); }
  choice::AttentionShape shape_of(std::span<const std::int64_t> ints) const;
  rkernel::Launch launch_of(std::span<const std::int64_t> symbols,
                            const choice::AttentionChoice& choice) const;
  void check_dtype(int index) const;
  DType dtype_of(int operand) const {
    return problem_->operands[static_cast<std::size_t>(operand)].dtype;
  }
  std::size_t class_for(std::span<const std::int64_t> ints, choice::ScoreForm form) const;
  void fill_strategy(const choice::AttentionShape& shape, const choice::AttentionStrategy& strategy,
                     rkernel::Launch& launch) const;

  std::shared_ptr<const rkernel::Problem> problem_;
  std::shared_ptr<const ContractionContext> context_;
  std::shared_ptr<const AttentionChoices> choices_;
  codegen::SlotTable slots_;
  AttentionSlots strategy_;
  std::vector<AttentionClass> classes_;
  std::vector<void*> functions_;  ///< of sources()
};

}  // namespace dyn::cpu
