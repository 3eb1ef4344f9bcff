#pragma once
// Notes what the caller and the helpers of a run do, and when.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dyn/profile.hpp"
#include "src/base/clock.hpp"
#include "src/runtime/run/tickets.hpp"

namespace dyn::runtime {

inline std::int64_t nanoseconds(Clock::time_point moment) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
}

/// Of one run at a time. A stage is noted by a function that stands in place of the kernel's: what
/// hands out tickets knows nothing of it, and runs that nobody notes pay nothing. Helpers write to
/// tracks of their own, which the caller makes large enough before each stage, and reads when the
/// stage is over.
class StepRecorder {
 public:
  struct Step {
    Profile::Kind kind = Profile::Kind::group;
    std::size_t group = 0;
    std::int64_t start_ns = 0, end_ns = 0;
  };

  /// Forgets everything.
  void clear();
  /// The stage, to be run in place of the given one, on at most so many threads; what it does is
  /// noted for the next step that ends. Valid until the next call.
  Stage noted(const Stage& stage, int number, int threads);
  void end_step(Profile::Kind kind, std::size_t group, Clock::time_point start,
                Clock::time_point end);

  const std::vector<Step>& steps() const noexcept { return steps_; }
  /// By step, thread and start; Slice::event is the step.
  std::vector<Profile::Slice> slices() const;

 private:
  /// Chunks of one thread in one stage that are noted apart. The last one stands for all beyond.
  static constexpr std::int64_t most_slices = 4096;
  static constexpr int cache_line = 64;
  struct alignas(cache_line) Track {
    std::vector<Profile::Slice> slices;
    std::size_t room = 0;  ///< slices until the end of the stage
  };
  /// What the function in the kernel's place is given for the kernel's arguments.
  struct NotedStage : rkernel::KernelArgs {
    Stage stage;
    std::size_t step = 0;
    int number = 0;
    const std::byte* first_mark = nullptr;
    Track* tracks = nullptr;
  };
  static void run_noted(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                        void* scratch);
  static void note(Track& track, const Profile::Slice& slice);

  std::vector<Step> steps_;
  std::vector<Track> tracks_;     ///< by thread
  std::vector<std::byte> marks_;  ///< whose address tells the thread
  NotedStage noted_{};
};

}  // namespace dyn::runtime
