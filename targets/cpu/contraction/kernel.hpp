#pragma once
// Kernels of problems with a contraction: planned by the cost model at each new shape.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/cpu/contraction/forms.hpp"
#include "targets/cpu/contraction/generated_programs.hpp"
#include "targets/cpu/contraction/provider.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"

namespace dyn::cpu {

class ContractionKernel final : public rkernel::Kernel {
 public:
  using Draft = codegen::KernelDraft<ContractionKernel, void*>;
  /// `constant_level`: the level of memory where packed weights are expected when a kernel starts.
  static Draft draft(const rkernel::Problem& problem,
                     std::shared_ptr<const ContractionContext> context, std::size_t constant_level);

  std::vector<codegen::KernelSource> sources() const { return forms_.sources(); }

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
  std::unique_ptr<const rkernel::ProgramSpace> program_space(
      const rkernel::PlanRequest& request) const override;
  std::string machine_name() const override;
  std::string explain(const rkernel::PlanRequest& request) const override;
  std::vector<rkernel::CodeListing> listings_at(const rkernel::PlanRequest& request) const override;
  std::string target_name() const override { return "cpu/" + context().isa().name; }
  std::string describe() const override;

 private:
  friend Draft;
  ContractionKernel(const rkernel::Problem& problem,
                    std::shared_ptr<const ContractionContext> context, std::size_t constant_level);
  void take_code(std::vector<void*> functions) { forms_.functions_ = std::move(functions); }
  const ContractionContext& context() const noexcept { return forms_.context(); }
  /// The library's launch where policy Dyn takes it instead of dyn's own program, which is expected
  /// to take `own_seconds`.
  std::optional<rkernel::Launch> library_beside(const ContractionRequest& request,
                                                double own_seconds) const;
  std::string explain_sizes(const ContractionRequest& request, std::size_t candidates) const;

  ContractionForms forms_;
  GeneratedPrograms own_;
  std::unique_ptr<const ContractionProvider> library_;
};

}  // namespace dyn::cpu
