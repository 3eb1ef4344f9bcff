#pragma once
// The programs that several policies consider for one problem at one shape, each once.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

/// What one policy makes of the problem.
struct PolicyView {
  rkernel::Policy policy = rkernel::Policy::Dyn;
  std::vector<std::size_t>
      considered;  ///< indices of CandidateUnion::programs, each once, in the policy's order
  std::optional<std::size_t> chosen;        ///< none where it considers none
  std::optional<double> predicted_seconds;  ///< of the chosen one, where the policy predicts time
  std::string none_reason;
};

struct CandidateUnion {
  std::vector<rkernel::Candidate> programs;  ///< in the order in which the policies name them first
  std::vector<PolicyView> policies;          ///< of all but Oracle
};

/// Oracle adds programs, but has no view: it chooses none before they have run. Throws
/// Error(internal) for a choice that is none of a policy's candidates.
CandidateUnion unite(std::vector<std::pair<rkernel::Policy, rkernel::Choices>> choices);

/// The union over these policies.
CandidateUnion candidates_of(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                             std::span<const rkernel::Policy> policies);

/// The union over all policies.
CandidateUnion all_candidates(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request);

/// The choices of the policy that runs: dyn's own where another has none for the problem, all
/// programs, of which none is chosen, for the oracle.
rkernel::Choices choices_of_run(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                                rkernel::Policy policy);

/// In words, which of these choices a launch is: the chosen one where it is like none of them.
/// Empty where there are none.
std::string program_of(const rkernel::Choices& choices, const rkernel::Launch& launch);

}  // namespace dyn::runtime
