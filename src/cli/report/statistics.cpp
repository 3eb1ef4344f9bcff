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

double percentile(std::vector<double> samples, double percent) {
  std::sort(samples.begin(), samples.end());
  const double position = percent / 100 * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return std::lerp(samples[below], samples[above], position - std::floor(position));
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
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
