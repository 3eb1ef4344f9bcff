#include "src/cli/select/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace dyn::cli {
namespace {

// Rounding errors of n additions grow with the root of n times the size of the sum; this factor
// bounds them.
constexpr double slack = 32;

double root_mean_square(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(values.size(), 1)));
}

}  // namespace

std::optional<std::string> difference(std::span<const float> expected,
                                      std::span<const float> actual, std::int64_t terms) {
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  const double bound = slack * epsilon *
                       std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1))) *
                       root_mean_square(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(expected[i]) - actual[i]);
    const bool same =
        expected[i] == actual[i] || (std::isnan(expected[i]) && std::isnan(actual[i]));
    if (!same && !(error <= bound))
      return fmt::format("element {} is {}, not {}", i, actual[i], expected[i]);
  }
  return std::nullopt;
}

void poison(Tensor& tensor) {
  if (tensor.dtype() != DType::f32) return;
  const std::span<float> elements = tensor.mutable_data<float>();
  std::fill(elements.begin(), elements.end(), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace dyn::cli
