#include <algorithm>
#include <cmath>

#include "dyn/tensor.hpp"
#include "src/runtime/weights/random_weights.hpp"
#include "tests/support/half.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;

TEST_CASE("any part of a tensor is the same, whichever way it is made") {
  const std::uint64_t seed = weight_seed(3, "layer.weight");
  std::vector<float> whole(1001), parts(1001);
  fill_random(DType::f32, seed, {0.25f, 0.5f}, 0, 1001, whole.data());
  for (std::int64_t first = 0; first < 1001;) {
    const std::int64_t count = std::min<std::int64_t>(1 + first % 7, 1001 - first);
    fill_random(DType::f32, seed, {0.25f, 0.5f}, first, count, parts.data() + first);
    first += count;
  }
  CHECK(whole == parts);
}

TEST_CASE("elements are normal") {
  constexpr std::int64_t count = 1'000'000;
  std::vector<float> values(count);
  fill_random(DType::f32, weight_seed(0, "w"), {}, 0, count, values.data());
  double sum = 0, squares = 0, fourths = 0, neighbours = 0;
  std::int64_t within_one = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    if (i > 0) neighbours += x * values[i - 1];
    within_one += std::abs(x) < 1 ? 1 : 0;
  }
  CHECK(std::abs(sum / count) < 0.005);
  CHECK(std::abs(squares / count - 1) < 0.02);
  CHECK(std::abs(fourths / count - 3) < 0.15);
  CHECK(std::abs(neighbours / count) < 0.005);
  CHECK(std::abs(static_cast<double>(within_one) / count - 0.6827) < 0.003);
}

TEST_CASE("seeds and keys give other elements; the scale is that of the fan-in") {
  CHECK(weight_seed(0, "a") != weight_seed(0, "b"));
  CHECK(weight_seed(0, "a") != weight_seed(1, "a"));
  CHECK(normal_spread("w", Shape{64, 3}).scale == 0.125f);
  CHECK(normal_spread("w.weight", Shape{4, 16, 3}).scale == 0.125f);
  CHECK(normal_spread("w.weight", Shape{4, 16, 3}).mean == 0);
  CHECK(normal_spread("norm.weight", Shape{768}).mean == 1);
  CHECK(normal_spread("norm.bias", Shape{768}).mean == 0);
  CHECK(normal_spread("weight", Shape{768}).scale == 0.1f);
}

TEST_CASE("integers are small") {
  std::vector<std::int64_t> values(1000);
  fill_random(DType::i64, 5, {}, 0, 1000, values.data());
  CHECK(*std::min_element(values.begin(), values.end()) == 0);
  CHECK(*std::max_element(values.begin(), values.end()) == 1);
}

TEST_CASE("floats of 16 bits are those of f32, rounded") {
  const NormalSpread spread = normal_spread("w", Shape{64, 3});
  std::vector<float> numbers(500);
  fill_random(DType::f32, 5, spread, 300, 500, numbers.data());
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> bits(500);
    fill_random(dtype, 5, spread, 300, 500, bits.data());
    int wrong = 0;
    for (std::size_t i = 0; i < bits.size(); ++i)
      wrong += bits[i] != testing::half_bits(dtype, static_cast<double>(numbers[i]));
    CHECK(wrong == 0);
  }
}
