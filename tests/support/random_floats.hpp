#pragma once
// Random operands.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace dyn::testing {

/// Uniform in [-1, 1.5): not symmetric, so that sums grow and a lost sign shows.
template <class Random>
std::vector<float> random_floats(Random& random, std::int64_t count) {
  std::uniform_real_distribution<float> distribution(-1, 1.5f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = distribution(random);
  return values;
}

}  // namespace dyn::testing
