#pragma once
// The moments of all launches, and which block of the running one each belongs to.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dyn::ptx::emulation {

using Epoch = std::uint32_t;

/// One counter serves all agents of all blocks, so that an epoch also tells its place among
/// launches, blocks and barriers.
class Timeline {
 public:
  /// Returns false where the counter began anew, after which no earlier epoch may be seen.
  bool begin_launch() {
    constexpr Epoch last_to_begin_with = Epoch{1} << 31;
    const bool anew = now_ > last_to_begin_with;
    if (anew) now_ = 0;
    launch_start_ = tick();
    periods_.clear();
    return !anew;
  }
  Epoch tick() { return ++now_; }
  /// From now on a block runs, until the next call.
  void enter(int block) {
    if (periods_.empty() || periods_.back().block != block) periods_.push_back({tick(), block});
  }

  Epoch launch_start() const { return launch_start_; }
  /// Since when the block that runs now has run without another one in between.
  Epoch period_start() const { return periods_.back().begin; }
  /// The block that ran at an epoch of this launch.
  int block_at(Epoch epoch) const {
    return (std::ranges::upper_bound(periods_, epoch, {}, &Period::begin) - 1)->block;
  }

 private:
  struct Period {
    Epoch begin;
    int block;
  };
  Epoch now_ = 0, launch_start_ = 0;
  std::vector<Period> periods_;
};

}  // namespace dyn::ptx::emulation
