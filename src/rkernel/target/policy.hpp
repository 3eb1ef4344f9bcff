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
/// programs: docs/selection.md says what each can choose. Those behind Oracle are papers' policies
/// without a part (ablations), or with what a paper compares itself with; Oracle does not ask them.
enum class Policy : std::uint8_t {
  Dyn,
  Vortex,
  MikPoly,
  FTuner,
  TSCompiler,
  DietCode,
  Vendor,
  Oracle,
  VortexFixedLowest,
  VortexFixedAll,
  VortexAnalytical,
  VortexEmpirical,
  MikPolyWave,
  MikPolyPipe,
  DietCodePadding,
  DietCodePartition
};

struct PolicyInfo {
  Policy policy;
  std::string_view name;     ///< as Options::policy has it
  std::string_view formula;  ///< the quantity that it minimises or maximises
  std::string_view source;   ///< source of the formula
};

/// All policies but ablations and alternatives; Dyn first.
std::span<const PolicyInfo> all_policies();
std::span<const PolicyInfo> all_ablations();
const PolicyInfo& info_of(Policy policy);
inline std::string_view name_of(Policy policy) { return info_of(policy).name; }
std::optional<Policy> policy_named(std::string_view name);
/// "dyn, vortex, ...", ablations too: for messages.
std::string policy_names();

/// Why a policy other than Dyn has no programs of its own for an operation ("attention") that its
/// paper does not define; in a model dyn's choice runs.
std::string undefined_reason(Policy policy, std::string_view operation);
/// The same as a line of Kernel::explain().
std::string no_choice_text(Policy policy, std::string_view operation);

/// True where choices may come from measurements of micro-kernels (MicroKernels::task_seconds).
constexpr bool uses_micro_kernels(Policy policy) {
  return policy != Policy::Dyn && policy != Policy::Vendor;
}

}  // namespace dyn::rkernel
