#include "src/rkernel/target/policy.hpp"

#include <algorithm>
#include <array>

namespace dyn::rkernel {
namespace {

constexpr std::array<PolicyInfo, 8> policies = {{
    {Policy::Dyn, "dyn",
     "least program_cost: Cost(L) = F_parallel * T_temporal with stores once, shared bandwidth and "
     "residency; tickets of all regions in order",
     "Vortex, equations 2 to 4, corrected; regions after MikPoly, section 3.3"},
    {Policy::Vortex, "vortex",
     "least Cost(L) = ceil(trips / units) * (T_load + (n - 1) * max(T_load, Cost(L-1)) + Cost(L-1) "
     "+ T_store)",
     "Vortex, equations 2 to 4"},
    {Policy::MikPoly, "mikpoly",
     "least sum over regions of f_wave * f_pipe: ceil(f_parallel / units) * g_predict(f_num)",
     "MikPoly, section 3.4"},
    {Policy::FTuner, "ftuner", "most SIA = CMR + Pad + Occ, of two micro-kernels their mean",
     "FTuner, equations 1 to 3 and 7; 4 to 6 filter its uKernels"},
    {Policy::TSCompiler, "tscompiler", "least T_s * ceil(blocks / blocks of a wave)",
     "TSCompiler, section 6"},
    {Policy::DietCode, "dietcode",
     "votes for most f_MK * f_OCC * f_pad, dispatched by a decision tree",
     "DietCode, equation 3 and section 4.3"},
    {Policy::Vendor, "vendor", "the vendor library's own choice", "oneDNN"},
    {Policy::Oracle, "oracle", "least measured time of every program of all policies",
     "exhaustive measurement"},
}};

constexpr std::array<PolicyInfo, 8> ablations = {{
    {Policy::VortexFixedLowest, "vortex-static1", "vortex with one strategy of layer 0",
     "Vortex, section 7.4: Static1"},
    {Policy::VortexFixedAll, "vortex-static2", "vortex with one strategy of layers 0 and 1",
     "Vortex, section 7.4: Static2"},
    {Policy::VortexAnalytical, "vortex-analytical", "vortex with no layer measured",
     "Vortex, section 5.2"},
    {Policy::VortexEmpirical, "vortex-empirical", "vortex with layers 0 and 1 measured",
     "Vortex, table 7"},
    {Policy::MikPolyWave, "mikpoly-wave", "least sum over regions of f_wave",
     "MikPoly, section 5.3: MikPoly-Wave"},
    {Policy::MikPolyPipe, "mikpoly-pipe", "least sum over regions of f_pipe",
     "MikPoly, section 5.3: MikPoly-Pipe"},
    {Policy::DietCodePadding, "dietcode-padding",
     "dietcode, with the padded operands and the slice of the result copied",
     "DietCode, section 4.1: global padding"},
    {Policy::DietCodePartition, "dietcode-partition",
     "dietcode, with whole blocks in one region and what is left in regions of their own",
     "DietCode, section 4.1: loop partitioning"},
}};

}  // namespace

std::span<const PolicyInfo> all_policies() { return policies; }

std::span<const PolicyInfo> all_ablations() { return ablations; }

const PolicyInfo& info_of(Policy policy) {
  const auto found = std::ranges::find(policies, policy, &PolicyInfo::policy);
  return found != policies.end() ? *found
                                 : *std::ranges::find(ablations, policy, &PolicyInfo::policy);
}

std::optional<Policy> policy_named(std::string_view name) {
  for (const std::span<const PolicyInfo> all : {all_policies(), all_ablations()}) {
    const auto found = std::ranges::find(all, name, &PolicyInfo::name);
    if (found != all.end()) return found->policy;
  }
  return std::nullopt;
}

std::string policy_names() {
  std::string names;
  for (const std::span<const PolicyInfo> all : {all_policies(), all_ablations()}) {
    for (const PolicyInfo& info : all)
      names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return names;
}

std::string undefined_reason(Policy policy, std::string_view operation) {
  const std::string what(operation);
  if (policy == Policy::Oracle) return "the oracle takes its candidates from all other policies";
  if (policy == Policy::Vendor)
    return "no vendor library is asked for " + what + "; in a model dyn's choice runs";
  return "the paper defines no choice for " + what + " (" + std::string(info_of(policy).source) +
         "); in a model dyn's choice runs";
}

std::string no_choice_text(Policy policy, std::string_view operation) {
  return "  policy " + std::string(name_of(policy)) +
         " has none: " + undefined_reason(policy, operation) + "\n";
}

}  // namespace dyn::rkernel
