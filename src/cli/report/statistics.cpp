#include "src/cli/report/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/clock.hpp"

namespace dyn::cli {
namespace {

constexpr std::size_t fewest_runs = 3;

}  // namespace

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return seconds_since(start);
}

std::vector<double> repeat(const Repetition& repetition, const std::function<void()>& work) {
  const Clock::time_point warmup_start = Clock::now();
  while (seconds_since(warmup_start) < repetition.warmup_seconds) work();
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  const auto enough = [&] {
    if (repetition.iterations > 0)
      return samples.size() == static_cast<std::size_t>(repetition.iterations);
    return samples.size() >= fewest_runs && seconds_since(start) >= repetition.duration_seconds;
  };
  while (!enough()) samples.push_back(seconds_of(work));
  return samples;
}

}  // namespace dyn::cli
