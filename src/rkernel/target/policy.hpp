#pragma once
// Policies choose among the programs of a contraction; each has a name.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dyn::rkernel {

/// `Oracle` measures every program of all others, and is for comparing; all others predict. The
/// papers' policies and Dyn run the same main loops and epilogues, but do not choose from the same
/// programs: docs/selection.md says what each can choose.
enum class Policy : std::uint8_t {
  Dyn,
  Vortex,
  MikPoly,
  FTuner,
  TSCompiler,
  DietCode,
  Vendor,
  Oracle
};

struct PolicyInfo {
  Policy policy;
  std::string_view name;     ///< as Options::policy has it
  std::string_view formula;  ///< the quantity that it minimises or maximises
  std::string_view source;   ///< source of the formula
};

/// All policies; Dyn first.
std::span<const PolicyInfo> all_policies();
const PolicyInfo& info_of(Policy policy);
inline std::string_view name_of(Policy policy) { return info_of(policy).name; }
std::optional<Policy> policy_named(std::string_view name);
/// "dyn, vortex, ...": for messages.
std::string policy_names();

/// True where choices may come from measurements of micro-kernels (MicroKernels::task_seconds).
constexpr bool uses_micro_kernels(Policy policy) {
  return policy != Policy::Dyn && policy != Policy::Vendor;
}

}  // namespace dyn::rkernel
