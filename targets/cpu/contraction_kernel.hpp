#pragma once
// Kernels of problems with a contraction: planned by the cost model at each new shape.

#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rkernel/select.hpp"
#include "src/rkernel/target.hpp"
#include "targets/cpu/contraction_classes.hpp"
#include "targets/cpu/contraction_emitter.hpp"
#include "targets/cpu/measure.hpp"

namespace dyn::cpu {

/// What all contraction kernels of one target share. Immutable after load but for the memory of choices, which is thread-safe.
class ContractionContext {
 public:
  /// `dot_loops` may be empty where no contraction has a form with lanes along K.
  /// `deterministic`: K is split by the shape alone.
  ContractionContext(const Isa& isa, rkernel::Machine machine, const MainLoopTable& loops, const MainLoopTable& dot_loops,
                     bool deterministic = false);

  const Isa& isa() const noexcept { return isa_; }
  const rkernel::Machine& machine() const noexcept { return machine_; }
  bool deterministic() const noexcept { return deterministic_; }
  /// Whether any choice may split K.
  bool splits() const noexcept { return deterministic_ || machine_.threads > 1; }
  const rkernel::CandidateSet& candidates() const noexcept { return candidates_; }
  /// Addresses of tables of main loops by rows, for tiles of so many columns; 0: none.
  std::int64_t table(int columns) const { return address(tables_, columns); }
  std::int64_t dot_table(int columns) const { return address(dot_tables_, columns); }
  /// The choice for a shape, remembered.
  rkernel::Choice choose(const rkernel::ContractionShape& shape, int threads) const;

 private:
  using Tables = std::unordered_map<int, std::vector<MainLoop>>;
  static std::int64_t address(const Tables& tables, int columns);

  const Isa& isa_;
  rkernel::Machine machine_;
  bool deterministic_;
  rkernel::CandidateSet candidates_;
  Tables tables_, dot_tables_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<std::string, rkernel::Choice> memory_;
};

class ContractionKernel final : public rkernel::Kernel {
 public:
  /// `constant_level`: the level of memory where packed weights are expected when a kernel starts.
  ContractionKernel(const rkernel::Problem& problem, std::shared_ptr<const ContractionContext> context, std::size_t constant_level);

  std::vector<KernelSource> sources() const;
  void bind(std::vector<void*> addresses) { addresses_ = std::move(addresses); }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override;
  /// What plan() gives, for a choice of the caller's.
  rkernel::Launch launch_with(const rkernel::PlanRequest& request, const rkernel::Choice& choice) const;
  /// All choices that there are for a shape, each with its predicted time.
  void for_each_choice(const rkernel::PlanRequest& request, const std::function<void(const rkernel::Choice&)>& visit) const;
  std::string explain(const rkernel::PlanRequest& request) const override;
  std::string target_name() const override { return "cpu/" + context_->isa().name; }
  std::string describe() const override;

 private:
  /// A form, and where its classes' code begins; after it that of their second stages, where K may be split.
  struct BoundForm {
    ContractionForm form;
    std::size_t first_address = 0;
    bool splits = false;
  };
  rkernel::ContractionShape shape_of(const ContractionForm& form, std::span<const std::int64_t> ints) const;
  /// The shapes of all forms that may compute these sizes.
  std::vector<rkernel::ContractionShape> shapes_of(std::span<const std::int64_t> ints) const;
  std::string describe_choice(const rkernel::ContractionShape& shape, const rkernel::Choice& choice, bool chosen) const;
  rkernel::Choice choose(std::span<const std::int64_t> ints, int threads) const;
  rkernel::Launch launch_with(std::vector<std::int64_t> ints, const rkernel::Choice& choice) const;
  void fill_strategy(const rkernel::ContractionShape& shape, const rkernel::Strategy& strategy, rkernel::Launch& launch) const;
  void fill_merge(const rkernel::ContractionShape& shape, const rkernel::Strategy& strategy, int threads, rkernel::Launch& launch) const;

  std::shared_ptr<const ContractionContext> context_;
  std::vector<BoundForm> forms_;  ///< as the problem came, then with sides exchanged where that may pay
  codegen::SlotTable slots_;
  StrategySlots strategy_;
  std::size_t constant_level_;
  std::vector<void*> addresses_;
};

}  // namespace dyn::cpu
