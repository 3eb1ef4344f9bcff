#pragma once
// Random test data from one printed seed.

#include <cstdint>
#include <random>
#include <string_view>

#include "dyn/tensor.hpp"

namespace dyn::testing {

/// Draws for one named test: the same seed and name give the same draws, whatever other tests run.
class Random {
 public:
  explicit Random(std::string_view test);

  /// In [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high);
  double real(double low, double high);
  double normal();
  bool chance(double probability) { return real(0, 1) < probability; }
  template <class Container>
  const auto& pick(const Container& choices) {
    return choices[static_cast<std::size_t>(
        integer(0, static_cast<std::int64_t>(std::size(choices)) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

/// The kinds of data that fill a tensor.
struct Fill {
  enum class Kind { Normal, Uniform, Special, NonFinite, Eighths } kind = Kind::Normal;
  double low = 0, high = 1;  ///< Uniform: the range, also of integers
};
/// Normal data is shifted, so that no sum, mean or mirror image is 0 by symmetry.
inline constexpr Fill normal_fill{};
/// Normal data with NaN, infinities, zeros of both signs, huge and tiny values in between.
inline constexpr Fill special_fill{Fill::Kind::Special};
/// Normal data with NaN, infinities and zeros of both signs in between; no products or sums
/// overflow.
inline constexpr Fill non_finite_fill{Fill::Kind::NonFinite};
/// Multiples of 1/8 in [-9, 9] without 0.
inline constexpr Fill eighths{Fill::Kind::Eighths};
constexpr Fill uniform(double low, double high) { return {Fill::Kind::Uniform, low, high}; }

void fill(Tensor& tensor, const Fill& how, Random& random);

}  // namespace dyn::testing
