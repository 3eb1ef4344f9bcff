#pragma once
// Kernels of problems with a contraction: planned by the cost model at each new shape.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/cpu/contraction/classes.hpp"
#include "targets/cpu/contraction/context.hpp"
#include "targets/cpu/contraction/emitter.hpp"

namespace dyn::cpu {

class VendorWeights;

/// A contraction by the vendor's library.
struct VendorLaunch {
  rkernel::Launch launch;
  std::string words;  ///< "oneDNN 2.6.3, 2 blocks of 256 x 768"
};

class ContractionKernel final : public rkernel::Kernel {
 public:
  /// `constant_level`: the level of memory where packed weights are expected when a kernel starts.
  ContractionKernel(const rkernel::Problem& problem,
                    std::shared_ptr<const ContractionContext> context, std::size_t constant_level);

  std::vector<codegen::KernelSource> sources() const;
  void bind(std::vector<void*> addresses) { addresses_ = std::move(addresses); }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override;
  /// What plan() gives, for a choice of the caller's.
  rkernel::Launch launch_with(const rkernel::PlanRequest& request,
                              const choice::Choice& choice) const;
  /// All choices that there are for a shape, each with its predicted time.
  void for_each_choice(const rkernel::PlanRequest& request,
                       const std::function<void(const choice::Choice&)>& visit) const;
  rkernel::Choices choices(const rkernel::PlanRequest& request,
                           rkernel::Policy policy) const override;
  void choose_only(const rkernel::PlanRequest& request, rkernel::Policy policy,
                   bool remembered) const override;
  std::string model_machine() const override;
  std::string explain(const rkernel::PlanRequest& request) const override;
  std::string target_name() const override { return "cpu/" + context_->isa().name; }
  std::string describe() const override;

 private:
  /// A form, and where its classes' code begins; after it that of their second stages, where K may
  /// be split.
  struct BoundForm {
    ContractionForm form;
    std::size_t first_address = 0;
    bool splits = false;
  };
  /// Of its left side, in memory: each once, however many windows it is in.
  std::int64_t elements_of_a(const ContractionForm& form, std::span<const std::int64_t> ints) const;
  choice::WindowStrips strips_of_a(const rkernel::WindowRows& window,
                                   std::span<const std::int64_t> ints) const;
  std::int64_t runs_of_a(const rkernel::WindowRows& window,
                         std::span<const std::int64_t> ints) const;
  choice::ContractionShape shape_of(const ContractionForm& form,
                                    std::span<const std::int64_t> ints) const;
  /// The shapes of all forms that may compute these sizes.
  std::vector<choice::ContractionShape> shapes_of(std::span<const std::int64_t> ints) const;
  std::string describe_choice(const choice::ContractionShape& shape, const choice::Choice& choice,
                              bool chosen) const;
  /// The policy's, or dyn's own where that has none for these sizes.
  choice::Choice choose(std::span<const std::int64_t> ints, int threads, rkernel::Policy policy,
                        bool remembered) const;
  choice::Choice choose_as_dyn(std::span<const std::int64_t> ints, int threads,
                               bool remembered) const;
  std::optional<choice::Choice> choose_by_paper(std::span<const std::int64_t> ints,
                                                rkernel::Policy policy) const;
  /// All that a policy considers; `predicted`: Choice::seconds is its own prediction.
  using VisitChoice = std::function<void(const choice::ContractionShape& shape,
                                         const choice::Choice& choice, bool predicted)>;
  void for_each_choice(const rkernel::PlanRequest& request, rkernel::Policy policy,
                       const VisitChoice& visit) const;
  choice::ContractionShape shape_with(rkernel::LaneAxis lanes,
                                      std::span<const std::int64_t> ints) const;
  rkernel::Launch launch_with(std::vector<std::int64_t> ints, const choice::Choice& choice) const;
  /// The vendor's primitives for these sizes on at most `threads` threads, made by this call (some
  /// tenths of a millisecond where the library does not know them yet); nullopt, with the reason,
  /// where it has none.
  std::optional<VendorLaunch> vendor_launch(std::span<const std::int64_t> ints, int threads,
                                            std::string& why_not) const;
  VendorChoice choose_vendor(const choice::ContractionShape& shape, bool epilogue,
                             int threads) const;
  /// Its predicted_seconds, without making primitives; nullopt where it is known to have none. It
  /// may still refuse.
  std::optional<double> vendor_estimate(std::span<const std::int64_t> ints, int threads) const;
  /// The vendor's where policy Dyn takes it instead of its own program, which is expected to take
  /// `own_seconds`.
  std::optional<VendorLaunch> vendor_beside(std::span<const std::int64_t> ints, int threads,
                                            double own_seconds) const;
  /// Appends what policy Dyn makes of the vendor's program, where it may take it; whether it does.
  bool explain_vendor(std::span<const std::int64_t> ints, int threads, double own_seconds,
                      std::string& text) const;
  rkernel::Choices vendor_choices(std::span<const std::int64_t> ints, int threads) const;
  std::shared_ptr<const VendorWeights> vendor_weights(const choice::ContractionShape& shape) const;
  /// What does not depend on who computes it: operations and bytes.
  static void set_work(const choice::ContractionShape& shape, const ContractionForm& form,
                       rkernel::Launch& launch);
  const BoundForm& form_with(rkernel::LaneAxis lanes) const;

  std::shared_ptr<const ContractionContext> context_;
  std::vector<BoundForm>
      forms_;  ///< as the problem came, then with sides exchanged where that may pay
  codegen::SlotTable slots_;
  StrategySlots strategy_;
  std::size_t constant_level_;
  std::vector<void*> addresses_;
  mutable std::mutex vendor_mutex_;
  mutable std::shared_ptr<const VendorWeights>
      vendor_weights_;  ///< made where the vendor first gets packed weights
};

}  // namespace dyn::cpu
