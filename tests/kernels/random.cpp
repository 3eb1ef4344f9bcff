#include "tests/kernels/random.hpp"

#include <limits>
#include <span>
#include <type_traits>

#include "graph/ir/scalars.hpp"
#include "tests/support/half.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {

Random::Random(std::string_view test) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, as its authors give it.
  for (const char c : test) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  engine_.seed(test_seed() ^ hash);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
}

double Random::real(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(engine_);
}

double Random::normal() { return std::normal_distribution<double>()(engine_); }

namespace {

/// So many special values come first that overflow no sum of products.
constexpr std::size_t non_finite_values = 5;

float special_value(const Fill& how, Random& random) {
  using limits = std::numeric_limits<float>;
  static constexpr float values[] = {limits::quiet_NaN(),
                                     limits::infinity(),
                                     -limits::infinity(),
                                     0.0F,
                                     -0.0F,
                                     limits::max(),
                                     limits::lowest(),
                                     limits::min(),
                                     -88.5F,
                                     89.5F,
                                     1e-20F,
                                     1.5F,
                                     2.5F};
  return random.pick(std::span(values).first(
      how.kind == Fill::Kind::NonFinite ? non_finite_values : std::size(values)));
}

double draw(const Fill& how, Random& random) {
  switch (how.kind) {
    case Fill::Kind::Uniform: return random.real(how.low, how.high);
    case Fill::Kind::Eighths:
      return static_cast<double>(random.integer(1, 72)) / (random.chance(0.5) ? 8 : -8);
    case Fill::Kind::Special:
    case Fill::Kind::NonFinite:
      if (random.chance(0.3)) return static_cast<double>(special_value(how, random));
      [[fallthrough]];
    default: return 0.3 + random.normal();
  }
}

template <class T>
void fill_integers(Tensor& tensor, const Fill& how, Random& random) {
  const bool ranged = how.kind == Fill::Kind::Uniform;
  const auto low = ranged ? static_cast<std::int64_t>(how.low) : -9,
             high = ranged ? static_cast<std::int64_t>(how.high) : 11;
  for (auto& value : tensor.mutable_data<T>()) value = static_cast<T>(random.integer(low, high));
}

}  // namespace

void fill(Tensor& tensor, const Fill& how, Random& random) {
  if (graph::is_half(tensor.dtype())) {
    auto* bits = static_cast<std::uint16_t*>(tensor.raw());
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      bits[i] = half_bits(tensor.dtype(), draw(how, random));
    return;
  }
  graph::with_element_type(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      for (auto& value : tensor.mutable_data<T>()) value = static_cast<T>(draw(how, random));
    } else if constexpr (std::is_same_v<T, bool>) {
      for (auto& value : tensor.mutable_data<T>()) value = random.chance(0.6);
    } else {
      fill_integers<T>(tensor, how, random);
    }
  });
}

}  // namespace dyn::testing
