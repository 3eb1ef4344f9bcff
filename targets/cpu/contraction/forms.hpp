#pragma once
// A contraction in all forms that may compute it: their slots, their generated code, and the shapes
// that choices are made for.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/cpu/contraction/classes.hpp"
#include "targets/cpu/contraction/context.hpp"
#include "targets/cpu/contraction/emitter.hpp"

namespace dyn::cpu {

/// A form with its factors alone, which its code knows, and the places of its functions among those
/// of all forms.
struct BoundForm {
  struct Functions {
    std::size_t tickets = 0, epilogue = 0;
    std::optional<std::size_t> merge;  ///< where K may be split
    std::optional<std::size_t> full_panel, full_vector;
  };
  ContractionForm form;
  rkernel::Problem factors;
  bool splits = false;
  std::vector<Functions> classes;              ///< of each of the form's
  std::array<std::size_t, 3> moves;            ///< of A, B and the rest of B's columns
  std::optional<std::size_t> image_work = {};  ///< where elements of A's windows are computed
};

/// Immutable once its kernel has its code; thread-safe. The sources refer to it.
class ContractionForms {
 public:
  /// `constant_level`: the level of memory where packed weights are expected when a kernel starts.
  ContractionForms(const rkernel::Problem& problem,
                   std::shared_ptr<const ContractionContext> context, std::size_t constant_level);
  ContractionForms(const ContractionForms&) = delete;
  ContractionForms& operator=(const ContractionForms&) = delete;

  const std::vector<codegen::KernelSource>& sources() const noexcept { return sources_; }

  const ContractionContext& context() const noexcept { return *context_; }
  const codegen::SlotTable& slots() const noexcept { return slots_.table; }
  const StrategySlots& strategy_slots() const noexcept { return slots_.strategy; }
  /// The form of the problem as it came, with lanes along N.
  const BoundForm& front() const { return forms_.front(); }
  const BoundForm& with_lanes(rkernel::LaneAxis lanes) const;

  choice::ContractionShape shape_of(const ContractionForm& form,
                                    std::span<const std::int64_t> ints) const;
  /// The shapes of all forms that may compute these sizes.
  std::vector<choice::ContractionShape> shapes_of(std::span<const std::int64_t> ints) const;

  /// The code for these slots' values; the second stage exists where the form splits.
  rkernel::KernelFunction function(const BoundForm& bound,
                                   std::span<const std::int64_t> ints) const;
  rkernel::KernelFunction second_stage(const BoundForm& bound,
                                       std::span<const std::int64_t> ints) const;
  /// Sets the addresses of the functions that the code for these slots' values calls.
  void set_functions(const BoundForm& bound, std::span<const std::int64_t> ints,
                     rkernel::Launch& launch) const;
  /// The code of both stages of a launch, as far as it is this contraction's.
  std::vector<rkernel::CodeListing> list_launched(const rkernel::Launch& launch) const;

 private:
  friend class ContractionKernel;  // hands its code on

  void add_sources(BoundForm& bound);
  std::array<codegen::KernelSource, 3> moves_of(const ContractionForm& form) const;
  const BoundForm::Functions& functions_for(const BoundForm& bound,
                                            std::span<const std::int64_t> ints) const;
  bool has_whole_groups(std::span<const std::int64_t> ints) const;
  std::int64_t elements_of_a(const ContractionForm& form, std::span<const std::int64_t> ints) const;
  choice::WindowStrips strips_of_a(const rkernel::WindowRows& window,
                                   std::span<const std::int64_t> ints) const;
  std::int64_t runs_of_a(const rkernel::WindowRows& window,
                         std::span<const std::int64_t> ints) const;

  std::shared_ptr<const ContractionContext> context_;
  const codegen::Isa& isa_;  ///< of what follows the sums
  ContractionSlots slots_;
  std::size_t constant_level_;
  std::vector<BoundForm>
      forms_;  ///< as the problem came, then with sides exchanged where that may pay
  std::vector<codegen::KernelSource> sources_;
  std::vector<void*> functions_;  ///< of sources_
};

/// Sets what does not depend on who computes it: operations and bytes.
void set_work(const choice::ContractionShape& shape, const ContractionForm& form,
              rkernel::Launch& launch);

}  // namespace dyn::cpu
