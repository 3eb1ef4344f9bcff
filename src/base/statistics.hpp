#pragma once
// Figures of a list of samples.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace dyn {

/// The value below which `percent` of the samples lie, interpolated between neighbours; 50: the
/// median. Samples need no order and must not be empty.
inline double percentile(std::vector<double> samples, double percent) {
  std::ranges::sort(samples);
  const double position = percent / 100 * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return std::lerp(samples[below], samples[above], position - std::floor(position));
}

/// The values are positive, and at least one.
inline double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace dyn
