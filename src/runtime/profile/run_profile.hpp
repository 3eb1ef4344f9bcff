#pragma once
// Where the time of runs goes.

#include <cstdint>
#include <vector>

#include "src/base/clock.hpp"
#include "src/runtime/profile/step_recorder.hpp"

namespace dyn::runtime {

class ProfileBuilder;

/// Seconds spent in each group by the runs that were given this profile, in order of execution.
struct RunProfile {
  std::vector<double> group_seconds;
  std::int64_t runs = 0;
  ProfileBuilder* builder = nullptr;  ///< is told everything besides; nullptr: nobody is
  StepRecorder* recorder = nullptr;   ///< the builder's, where there is one
};

/// A step of a run, from its making to end(), which counts its time for a group. Without a profile
/// it does nothing.
class TimedStep {
 public:
  explicit TimedStep(RunProfile* profile)
      : profile_(profile), start_(profile != nullptr ? Clock::now() : Clock::time_point{}) {}

  void end(Profile::Kind kind, std::size_t group) const {
    if (profile_ == nullptr) return;
    const Clock::time_point end = Clock::now();
    profile_->group_seconds[group] += std::chrono::duration<double>(end - start_).count();
    if (profile_->recorder != nullptr) profile_->recorder->end_step(kind, group, start_, end);
  }

 private:
  RunProfile* const profile_;
  const Clock::time_point start_;
};

}  // namespace dyn::runtime
