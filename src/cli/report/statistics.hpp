#pragma once
// Times of repeated runs.

#include <cstdint>
#include <functional>
#include <vector>

namespace dyn::cli {

/// Seconds that `work` takes.
double seconds_of(const std::function<void()>& work);

/// The value below which `percent` of the samples lie, interpolated between neighbours; 50: the
/// median. Samples need no order and must not be empty.
double percentile(std::vector<double> samples, double percent);

double geometric_mean(const std::vector<double>& values);  ///< of positive values, at least one

struct Repetition {
  std::int64_t iterations = 0;  ///< exactly this many; 0: by duration
  double duration_seconds = 1, warmup_seconds = 0.2;
};

/// Seconds of each timed run, after the warm-up. By duration: at least 3 runs.
std::vector<double> repeat(const Repetition& repetition, const std::function<void()>& work);

}  // namespace dyn::cli
