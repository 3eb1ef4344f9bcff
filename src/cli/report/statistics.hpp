#pragma once
// Times of repeated runs.

#include <cstdint>
#include <functional>
#include <vector>

namespace dyn::cli {

/// Seconds that `work` takes.
double seconds_of(const std::function<void()>& work);

struct Repetition {
  std::int64_t iterations = 0;  ///< exactly this many; 0: by duration
  double duration_seconds = 1, warmup_seconds = 0.2;
};

/// Seconds of each timed run, after the warm-up. By duration: at least 3 runs.
std::vector<double> repeat(const Repetition& repetition, const std::function<void()>& work);

}  // namespace dyn::cli
