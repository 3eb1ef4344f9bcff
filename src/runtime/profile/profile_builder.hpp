#pragma once
// Fills a dyn::Profile while a run goes on.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dyn/profile.hpp"
#include "graph/ir/module.hpp"
#include "src/rkernel/target/policy.hpp"
#include "src/runtime/load/compile.hpp"
#include "src/runtime/plan/plan.hpp"
#include "src/runtime/plan/wiring.hpp"
#include "src/runtime/profile/run_profile.hpp"

namespace dyn::runtime {

/// What a plan was made of.
struct PlannedWork {
  const graph::Module& module;
  const CompiledGroups& groups;
  const Wiring& wiring;
  rkernel::Policy policy;
  int threads = 1;  ///< that plans are made for
};

/// Of one run, which may execute many plans, and operators of the host between them.
class ProfileBuilder {
 public:
  /// Empties the profile, but for its label; it must outlive the builder. The run starts now, and
  /// ends with the last of its parts.
  explicit ProfileBuilder(Profile& profile);

  /// What the execution of one plan is given; its builder is this.
  RunProfile part() { return {{}, 0, this, &recorder_}; }
  void begin_plan() { recorder_.clear(); }
  /// Takes over what was recorded since begin_plan().
  void end_plan(const PlannedWork& work, const PlanPtr& plan);
  /// What is no kernel's: adds an event around `work`, of a group with these names.
  template <class Work>
  void on_host(const std::string& name, const std::string& operators, const Work& work) {
    const Clock::time_point start = Clock::now();
    work();
    add_host_event(name, operators, start);
  }

 private:
  void add_host_event(const std::string& name, const std::string& operators,
                      Clock::time_point start);
  std::size_t first_group_of(const PlannedWork& work, const PlanPtr& plan);
  void add_buffers(const PlannedWork& work, const Plan& plan);

  Profile& profile_;
  StepRecorder recorder_;
  struct KnownPlan {
    const Wiring* wiring;
    PlanPtr plan;
    std::size_t first_group;
  };
  std::vector<KnownPlan> plans_;
};

}  // namespace dyn::runtime
