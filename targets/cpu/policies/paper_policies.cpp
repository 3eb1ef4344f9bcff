#include "targets/cpu/policies/paper_policies.hpp"

#include <algorithm>

#include "src/base/rounding.hpp"
#include "src/choice/policies/ftuner/ukernels.hpp"
#include "src/choice/policies/vortex/layers.hpp"

namespace dyn::cpu {
namespace {

using choice::ContractionShape;
using rkernel::Policy;

choice::ProductShape sizes_of(const ContractionShape& shape) {
  return {shape.batch, shape.m, shape.n, shape.k};
}

bool is_vortex(Policy policy) {
  return policy == Policy::Vortex || policy == Policy::VortexFixedLowest ||
         policy == Policy::VortexFixedAll || policy == Policy::VortexAnalytical ||
         policy == Policy::VortexEmpirical;
}

/// Whose timed blocks a policy reads.
Policy timed_as(Policy policy) {
  switch (policy) {
    case Policy::MikPolyWave:
    case Policy::MikPolyPipe: return Policy::MikPoly;
    case Policy::DietCodePadding:
    case Policy::DietCodePartition: return Policy::DietCode;
    default: return policy;
  }
}

// Timed blocks stand in the order of the map's entries.
void take_timed_costs(const choice::Machine& machine, const choice::BlockOperands& operands,
                      const std::vector<BlockSpeed>& speeds,
                      std::vector<choice::VortexBlock>& blocks) {
  for (std::size_t i = 0; i < blocks.size() && i < speeds.size(); ++i) {
    blocks[i].seconds = speeds[i].alone.front() + choice::move_seconds(machine, blocks[i].block,
                                                                       blocks[i].block.depth,
                                                                       operands, machine.threads);
  }
}

}  // namespace

std::vector<Policy> measured_policies(Policy policy) {
  if (policy == Policy::Oracle) return {Policy::MikPoly, Policy::TSCompiler, Policy::DietCode};
  if (!rkernel::uses_micro_kernels(policy) || policy == Policy::FTuner ||
      (is_vortex(policy) && policy != Policy::VortexEmpirical))
    return {};
  return {timed_as(policy)};
}

std::string_view basis_of(Policy policy) {
  switch (policy) {
    case Policy::Vortex:
    case Policy::VortexFixedLowest:
    case Policy::VortexFixedAll: return ": layer 0 measured, layers 1 and 2 analytical";
    case Policy::VortexAnalytical: return ": all layers analytical";
    case Policy::VortexEmpirical: return ": layers 0 and 1 measured, layer 2 analytical";
    case Policy::MikPoly:
    case Policy::MikPolyPipe: return ": g_predict fitted to measured tasks";
    case Policy::MikPolyWave: return ": waves alone, nothing measured";
    case Policy::FTuner: return ": a score, from layer 0 and bandwidths as measured";
    case Policy::TSCompiler: return ": T_s measured";
    case Policy::DietCode:
    case Policy::DietCodePartition: return ": f_MK and f_OCC measured";
    case Policy::DietCodePadding:
      return ": f_MK and f_OCC measured, copies from the machine's bandwidth";
    case Policy::Dyn:
    case Policy::Vendor:
    case Policy::Oracle: break;
  }
  return "";
}

PaperPolicies::PaperPolicies(const choice::Machine& machine, PolicyFigures figures)
    : machine_(machine), figures_(std::move(figures)) {}

PaperPolicies::~PaperPolicies() = default;

const choice::TunedKernels* PaperPolicies::tuned(const Key& key) const {
  const auto known = figures_.tuned.find(timed_as(key.first));
  if (known == figures_.tuned.end()) return nullptr;
  const auto found =
      std::ranges::find(known->second, key.second.timed(), &choice::TunedKernels::operands);
  return found == known->second.end() ? nullptr : &*found;
}

bool PaperPolicies::is_tuned(Policy policy, const ContractionShape& shape) const {
  return tuned({policy, operands_of(shape)}) != nullptr;
}

std::optional<std::vector<BlockSpeed>> PaperPolicies::timed(Policy policy) const {
  const auto known = figures_.speeds.find(timed_as(policy));
  if (known != figures_.speeds.end()) return known->second;
  if (!figures_.measure || measured_policies(policy).empty()) return std::nullopt;
  return figures_.measure(timed_as(policy));
}

std::unique_ptr<const CpuMicroKernels> PaperPolicies::kernels_for(const Key& key) const {
  const auto& [policy, operands] = key;
  if (const choice::TunedKernels* found = tuned(key))
    return std::make_unique<const CpuMicroKernels>(machine_, found->kernels, operands,
                                                   found->operands.factors);
  const std::optional<std::vector<BlockSpeed>> timed = this->timed(policy);
  if (!is_vortex(policy)) {
    if (!timed) return nullptr;
    return std::make_unique<const CpuMicroKernels>(machine_, *timed, operands);
  }
  if (policy == Policy::VortexEmpirical && !timed) return nullptr;
  const auto analyser = policy == Policy::VortexAnalytical ? choice::VortexAnalyser::Analytical
                                                           : choice::VortexAnalyser::Mixed;
  std::vector<choice::VortexBlock> blocks =
      choice::all_vortex_blocks(machine_, choice::vortex_layers(machine_), operands, analyser);
  if (timed) take_timed_costs(machine_, operands, *timed, blocks);
  // A layer 0 that is fixed may be the worse one of a block.
  const bool fixed = policy == Policy::VortexFixedLowest || policy == Policy::VortexFixedAll;
  return std::make_unique<const CpuMicroKernels>(
      machine_, fixed ? blocks : choice::best_vortex_blocks(blocks), operands);
}

std::optional<PaperPolicies::Ready> PaperPolicies::over(
    const Key& key, std::unique_ptr<const CpuMicroKernels> kernels) const {
  if (kernels == nullptr) return std::nullopt;
  choice::PartitionRules rules{choice::Regions::Any, machine_.panel};
  if (const choice::TunedKernels* found = tuned(key)) rules.sampled = found->sampled;
  auto choice = choice::make_paper_policy(key.first, *kernels, rules);
  if (choice == nullptr) return std::nullopt;
  return Ready{std::move(kernels), std::move(choice)};
}

std::shared_ptr<const PaperPolicies::Ready> PaperPolicies::find(
    Policy policy, const ContractionShape& shape) const {
  const Key key(policy, operands_of(shape));
  const rkernel::Factors& factors = key.second.factors;
  if (factors != rkernel::Factors() && !machine_.narrow_tiles.contains(factors)) return nullptr;
  const auto shared = [](std::optional<Ready> ready) {
    return ready ? std::make_shared<const Ready>(*std::move(ready)) : nullptr;
  };
  if (policy == Policy::FTuner) {
    return shared(over(
        key,
        std::make_unique<const CpuMicroKernels>(
            machine_, choice::ftuner_ukernels(machine_, sizes_of(shape), factors), key.second)));
  }
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = ready_.find(key); found != ready_.end()) return found->second;
  }
  std::shared_ptr<const Ready> ready = shared(over(key, kernels_for(key)));
  if (ready == nullptr) return nullptr;
  const std::unique_lock lock(mutex_);
  return ready_.try_emplace(key, std::move(ready)).first->second;
}

choice::Choice PaperPolicies::choice_of(const CpuMicroKernels& kernels,
                                        const ContractionShape& shape,
                                        const choice::KernelProgram& program) const {
  choice::Choice choice;
  std::int64_t tickets = 0;
  for (const choice::KernelRegion& region : program.regions) {
    const rkernel::Strategy strategy = kernels.strategy(region.kernel, shape);
    choice.program.regions.push_back({region.m0, region.m, region.n0, region.n, strategy});
    tickets +=
        shape.batch * ceil_div(region.m, strategy.block_m) * ceil_div(region.n, strategy.block_n);
  }
  choice.threads = static_cast<int>(std::clamp<std::int64_t>(tickets, 1, machine_.threads));
  choice.seconds = program.seconds.value_or(0);
  return choice;
}

std::optional<PaperChoice> PaperPolicies::choose(Policy policy,
                                                 const ContractionShape& shape) const {
  const std::shared_ptr<const Ready> ready = find(policy, shape);
  if (ready == nullptr) return std::nullopt;
  const choice::KernelProgram program = ready->policy->choose(sizes_of(shape));
  if (program.regions.empty()) return std::nullopt;
  return PaperChoice{choice_of(*ready->kernels, shape, program), program.merit};
}

void PaperPolicies::for_each(Policy policy, const ContractionShape& shape,
                             const Visit& visit) const {
  const std::shared_ptr<const Ready> ready = find(policy, shape);
  if (ready == nullptr) return;
  ready->policy->for_each(sizes_of(shape), [&](const choice::KernelProgram& program) {
    visit(choice_of(*ready->kernels, shape, program), program.seconds.has_value());
  });
}

}  // namespace dyn::cpu
