#pragma once
// The papers' policies on this CPU, each over its own micro-kernels.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "src/choice/cpu/select.hpp"
#include "src/choice/cpu/tuned_pools.hpp"
#include "src/choice/policies/shared/paper_policy.hpp"
#include "targets/cpu/policies/micro_kernels.hpp"

namespace dyn::cpu {

/// What was timed for each policy that times blocks.
using PolicySpeeds = std::map<rkernel::Policy, std::vector<BlockSpeed>>;

/// What is known of the blocks of policies.
struct PolicyFigures {
  PolicySpeeds speeds = {};  ///< of its own blocks, with f32 and B in panels
  /// Kernels that a tuner found for a policy. They are taken for operands as they were timed with.
  std::map<rkernel::Policy, std::vector<choice::TunedKernels>> tuned = {};
  /// Times the blocks of a policy that `speeds` lacks, when it is asked for the first time; takes
  /// as long as that. Empty: such policies are not there. Thread-safe.
  std::function<std::vector<BlockSpeed>(rkernel::Policy policy)> measure = {};
};

/// The policies whose timed blocks `policy` reads: its own, or MikPoly's and DietCode's for their
/// variants; all of the papers' for Oracle. None for Dyn and Vendor.
std::vector<rkernel::Policy> measured_policies(rkernel::Policy policy);

/// ": what it knows of times", for people; empty for policies of no paper.
std::string_view basis_of(rkernel::Policy policy);

/// A choice, and how good its policy finds it: more is better.
struct PaperChoice {
  choice::Choice choice;
  double merit = 0;
};

/// Policies are made when they are first asked, FTuner's uKernels for each shape. Thread-safe.
class PaperPolicies {
 public:
  /// `machine` must outlive it. Policies that time blocks are there where these are among the
  /// figures, or can be measured.
  PaperPolicies(const choice::Machine& machine, PolicyFigures figures);
  ~PaperPolicies();
  PaperPolicies(const PaperPolicies&) = delete;
  PaperPolicies& operator=(const PaperPolicies&) = delete;

  /// True if a tuner found the policy's blocks for such a shape's operands.
  bool is_tuned(rkernel::Policy policy, const choice::ContractionShape& shape) const;
  /// What the policy takes for a shape with lanes along N or M; nullopt where it is not there, or
  /// has nothing to choose.
  std::optional<PaperChoice> choose(rkernel::Policy policy,
                                    const choice::ContractionShape& shape) const;
  /// Every program that it considers; `predicted` where it predicts time.
  using Visit = std::function<void(const choice::Choice& choice, bool predicted)>;
  void for_each(rkernel::Policy policy, const choice::ContractionShape& shape,
                const Visit& visit) const;

 private:
  /// A policy over micro-kernels for the same factors whose operands move alike.
  struct Ready {
    std::unique_ptr<const CpuMicroKernels> kernels;
    std::unique_ptr<const choice::PaperPolicy> policy;
  };
  using Key = std::pair<rkernel::Policy, choice::BlockOperands>;
  /// nullptr: the policy is not there.
  std::shared_ptr<const Ready> find(rkernel::Policy policy,
                                    const choice::ContractionShape& shape) const;
  std::optional<Ready> over(const Key& key, std::unique_ptr<const CpuMicroKernels> kernels) const;
  /// nullptr: none that was timed with such operands.
  const choice::TunedKernels* tuned(const Key& key) const;
  std::unique_ptr<const CpuMicroKernels> kernels_for(const Key& key) const;
  /// What was timed for a policy: nullopt where nothing is, or can be.
  std::optional<std::vector<BlockSpeed>> timed(rkernel::Policy policy) const;
  choice::Choice choice_of(const CpuMicroKernels& kernels, const choice::ContractionShape& shape,
                           const choice::KernelProgram& program) const;

  const choice::Machine& machine_;
  PolicyFigures figures_;
  mutable std::shared_mutex mutex_;
  mutable std::map<Key, std::shared_ptr<const Ready>> ready_;
};

}  // namespace dyn::cpu
