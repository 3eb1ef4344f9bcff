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
     "FTuner, equations 1 to 3, 6 (its left side, as a term) and 7"},
    {Policy::TSCompiler, "tscompiler", "least T_s * ceil(blocks / blocks of a wave)",
     "TSCompiler, section 6"},
    {Policy::DietCode, "dietcode",
     "votes for most f_MK * f_OCC * f_pad, dispatched by a decision tree",
     "DietCode, equation 3 and section 4.3"},
    {Policy::Vendor, "vendor", "the vendor library's own choice", "oneDNN"},
    {Policy::Oracle, "oracle", "least measured time of every program of all policies",
     "exhaustive measurement"},
}};

}  // namespace

std::span<const PolicyInfo> all_policies() { return policies; }

const PolicyInfo& info_of(Policy policy) {
  return *std::ranges::find(policies, policy, &PolicyInfo::policy);
}

std::optional<Policy> policy_named(std::string_view name) {
  const auto found = std::ranges::find(policies, name, &PolicyInfo::name);
  return found == policies.end() ? std::nullopt : std::optional(found->policy);
}

std::string policy_names() {
  std::string names;
  for (const PolicyInfo& info : policies)
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

}  // namespace dyn::rkernel
