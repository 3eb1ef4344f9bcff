#pragma once
// Kernels of recurrent layers: planned by the cost model at each new shape.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/cost/recurrence_cost.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/cpu/recurrence/emitter.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"

namespace dyn::cpu {

/// Whether a recurrence's weights, where they are constant, have the sizes and strides that panels
/// for each direction and gate need.
bool has_packed_weights(const rkernel::Problem& problem);

/// The rKernel of a form: registers, rows of a tile, steps, threads.
rkernel::RKernel recurrence_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                    RecurrenceForm form, int threads);

class RecurrenceKernel final : public rkernel::Kernel {
 public:
  using Draft = codegen::KernelDraft<RecurrenceKernel, void*>;
  /// Throws Error(unsupported) for operands that are not f32, lengths apart.
  static Draft draft(const rkernel::Problem& problem, const codegen::Isa& isa,
                     std::shared_ptr<const choice::Machine> machine);

  /// One for each class, and after them that of a stage in which teams are made ready.
  std::vector<codegen::KernelSource> sources() const;

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override;
  std::string explain(const rkernel::PlanRequest& request) const override;
  std::vector<rkernel::CodeListing> listings_at(const rkernel::PlanRequest& request) const override;
  std::string target_name() const override { return "cpu/" + isa_.name; }
  std::string describe() const override;

  choice::RecurrenceShape shape(std::span<const std::int64_t> symbols) const;
  /// A launch by a strategy that the cost model did not choose; every one gives the same result.
  rkernel::Launch plan_with(std::span<const std::int64_t> symbols,
                            const choice::RecurrenceStrategy& strategy) const;

 private:
  friend Draft;
  RecurrenceKernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                   std::shared_ptr<const choice::Machine> machine);
  void take_code(std::vector<void*> functions) { functions_ = std::move(functions); }
  choice::RecurrenceShape shape_of(std::span<const std::int64_t> ints) const;
  /// Whether there is code for columns that threads share.
  bool shares_columns() const;
  /// Fills the places in a team's memory; returns its bytes.
  std::int64_t fill_memory(const choice::RecurrenceShape& shape, std::int64_t rows,
                           rkernel::Launch& launch) const;
  /// Of a tile's sums.
  std::int64_t tile_bytes(RecurrenceForm form) const;
  /// Of a ticket's quantised states.
  std::int64_t quantised_bytes(std::int64_t rows, std::int64_t hidden) const;

  std::shared_ptr<const rkernel::Problem> problem_;
  const codegen::Isa& isa_;
  std::shared_ptr<const choice::Machine> machine_;
  codegen::SlotTable slots_;
  RecurrenceSlots strategy_;
  std::vector<RecurrenceClass> classes_;
  std::vector<void*> functions_;  ///< of sources()
};

}  // namespace dyn::cpu
