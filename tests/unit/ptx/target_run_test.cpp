// Small graphs on the emulator, problem by problem, against the interpreter of problems.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "tests/support/problems/problem_interpreter.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/device_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;

namespace {

double quadratic_mean(const Floats& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

/// The largest difference of an output, relative to 1 + its magnitude or the quadratic mean of all,
/// whichever is larger: where terms cancel, their roundings stay. `pairs`, where given, counts the
/// programs of two regions that ran.
double difference(const std::string& text,
                  const std::vector<std::pair<std::string, std::int64_t>>& sizes, DType precision,
                  bool tf32, std::mt19937_64& random, rkernel::Policy policy = rkernel::Policy::Dyn,
                  int multiprocessors = 108, int* pairs = nullptr) {
  const LoweredGraph exact = lowered(text);
  LoweredGraph narrow = lowered(text);
  const Symbols symbols = exact.symbols(sizes);
  std::map<graph::ValueId, Floats> buffers = buffers_of(exact, symbols, random);
  const std::shared_ptr<Emulator> emulator = emulator_with(multiprocessors);
  TargetOptions options;
  options.device = emulator;
  options.machine = emulator->machine();
  options.precision = precision;
  options.allow_tf32 = tf32;
  options.policy = policy;
  const auto target = make_ptx_target(options);
  CHECK(target->name() == "emulator/a100");
  rkernel::Prepared prepared = target->prepare(narrow.problems, narrow.facts());
  narrow.problems = std::move(prepared.problems);
  const auto& kernels = prepared.kernels;
  DeviceRun device(*target, narrow, buffers);
  std::map<graph::ValueId, void*> memory;
  for (auto& [id, floats] : buffers) memory[id] = floats.data();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    REQUIRE(kernels[i]);
    device.run(narrow.problems[i], *kernels[i], symbols);
    dyn::testing::interpret(exact.problems[i], symbols, memory);
    if (pairs == nullptr) continue;
    const rkernel::Choices choices = kernels[i]->choices({symbols, 1}, policy);
    *pairs += choices.candidates.at(choices.chosen).program.find(" on rows ") != std::string::npos;
  }
  for (const FaultReport& fault : emulator->take_reports()) FAIL_CHECK(to_string(fault));
  double worst = 0;
  for (const graph::ValueId base : exact.fusion.output_bases) {
    const Floats actual = device.output(base);
    const Floats& expected = buffers.at(base);
    REQUIRE(actual.size() == expected.size());
    const double mean = quadratic_mean(expected);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double error = std::fabs(static_cast<double>(actual[i]) - expected[i]) /
                           (1 + std::max(mean, std::fabs(static_cast<double>(expected[i]))));
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst;
}

const char* const narrow_projection = R"(
dim M in 0..1000
graph g(x: f32[M, 40]) -> (y: f32[M, 24]) {
  y = matmul(x, w: f32[40, 24])
  return y
}
)";

const char* const wide_projection = R"(
dim M in 0..1000
graph g(x: f32[M, 40]) -> (y: f32[M, 128]) {
  y = relu(matmul(x, w: f32[40, 128]) + b: f32[128])
  return y
}
)";

const char* const small_perceptron = R"(
dim M in 0..1000
graph g(x: f32[M, 40]) -> (y: f32[M, 24]) {
  h = relu(matmul(x, w1: f32[40, 72]) + b1: f32[72])
  y = matmul(h, w2: f32[72, 24]) + b2: f32[24]
  return y
}
)";

const char* const attention = R"(
dim S in 1..64
graph g(x: f32[S, 32]) -> (y: f32[S, 32]) {
  q = matmul(x, wq: f32[32, 32])
  k = matmul(x, wk: f32[32, 32])
  v = matmul(x, wv: f32[32, 32])
  p = softmax(matmul(q, transpose(k) perm=[1, 0]) * 0.176) axis=-1
  y = layer_norm(x + matmul(p, v), g: f32[32], b: f32[32])
  return y
}
)";

// Channels are a symbol: whether a chunk lies in one tap is known at the launch.
const char* const convolution = R"(
dim N in 0..1000
dim H in 1..1000
dim W in 1..1000
dim C in 1..1000
dim F in 1..1000
graph g(x: f32[N, H, W, C], w: f32[3, 2, C, F]) -> (y: f32[N, floordiv(H + 1, 2), W + 1, F]) {
  y = relu(conv(x, w) strides=[2, 1] before=[1, 0] after=[1, 2])
  return y
}
)";

// Half of the channels: where they begin at whole chunks they need not be whole ones.
const char* const convolution_of_half = R"(
dim N in 0..1000
dim H in 1..1000
dim W in 1..1000
dim C in 1..1000
dim F in 1..1000
graph g(x: f32[N, H, W, 2 * C], w: f32[3, 2, C, F]) -> (y: f32[N, H, W + 1, F]) {
  half = slice(x) axes=[3] ends=[C]
  y = conv(half, w) before=[1, 0] after=[1, 2]
  return y
}
)";

// Channels are known, so that all is copied as vectors.
const char* const wide_convolution = R"(
dim H in 1..1000
graph g(x: f32[1, H, 38, 8]) -> (y: f32[1, H, 38, 128]) {
  y = relu(conv(x, w: f32[3, 3, 8, 128]) before=[1, 1] after=[1, 1] + b: f32[128])
  return y
}
)";

struct Precision {
  DType dtype;
  bool tf32;
  double tolerance;  ///< some roundings of the narrowest dtype on the way
};
constexpr Precision precisions[] = {{DType::f32, false, 1e-5},
                                    {DType::f32, true, 4e-3},
                                    {DType::f16, false, 4e-3},
                                    {DType::bf16, false, 3e-2}};

}  // namespace

TEST_CASE("one row of a product on the emulator, and none") {
  std::mt19937_64 random(3);
  CHECK(difference(narrow_projection, {{"M", 1}}, DType::f32, false, random) < 1e-5);
  CHECK(difference(narrow_projection, {{"M", 0}}, DType::f32, false, random) == 0);
}

TEST_CASE("whoever chooses, a product on the emulator is right") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const rkernel::PolicyInfo& info : rkernel::all_policies()) {
    CAPTURE(info.name);
    for (const std::int64_t m : {1, 70})
      CHECK(difference(narrow_projection, {{"M", m}}, DType::f32, false, random, info.policy) <
            1e-5);
    CHECK(difference(narrow_projection, {{"M", 0}}, DType::f32, false, random, info.policy) == 0);
  }
}

TEST_CASE("whoever chooses, a convolution on the emulator is right") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const rkernel::PolicyInfo& info : rkernel::all_policies()) {
    CAPTURE(info.name);
    for (const std::int64_t channels : {8, 3}) {
      CHECK(difference(convolution, {{"N", 2}, {"H", 7}, {"W", 5}, {"C", channels}, {"F", 37}},
                       DType::f32, false, random, info.policy) < 1e-5);
    }
  }
}

TEST_CASE("products in two regions on the emulator are right") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const rkernel::Policy policy :
       {rkernel::Policy::Dyn, rkernel::Policy::MikPoly, rkernel::Policy::FTuner}) {
    CAPTURE(name_of(policy));
    int pairs = 0;
    for (const std::int64_t m : {300, 540, 660, 100}) {
      CHECK(difference(wide_projection, {{"M", m}}, DType::f32, false, random, policy, 2, &pairs) <
            1e-5);
    }
    // Late tiles of one region are faster here than dyn's pairs.
    if (policy != rkernel::Policy::Dyn) CHECK(pairs > 0);
    MESSAGE(pairs << " of 4 programs by " << name_of(policy) << " have two regions");
  }
}

TEST_CASE("convolutions on the emulator are right where chunks lie in one tap, and elsewhere") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const std::int64_t channels : {12, 8, 3, 6, 1}) {
    CAPTURE(channels);
    for (const char* const text : {convolution, convolution_of_half}) {
      CHECK(difference(text, {{"N", 2}, {"H", 6}, {"W", 5}, {"C", channels}, {"F", 37}}, DType::f32,
                       false, random) < 1e-5);
    }
  }
}

TEST_CASE("convolutions in two regions on the emulator are right") {
  std::mt19937_64 random(dyn::testing::test_seed());
  int pairs = 0;
  for (const std::int64_t height : {9, 14, 20, 27}) {
    CHECK(difference(wide_convolution, {{"H", height}}, DType::f32, false, random,
                     rkernel::Policy::MikPoly, 2, &pairs) < 1e-5);
  }
  CHECK(pairs > 0);
}

TEST_SUITE("full") {
  TEST_CASE("convolutions of random sizes on the emulator, in every precision") {
    std::mt19937_64 random(dyn::testing::test_seed());
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    for (const auto& [dtype, tf32, tolerance] : precisions) {
      for (int i = 0; i < dyn::testing::test_rounds(50, 10); ++i) {
        const std::vector<std::pair<std::string, std::int64_t>> sizes{{"N", draw(0, 3)},
                                                                      {"H", draw(1, 13)},
                                                                      {"W", draw(1, 13)},
                                                                      {"C", draw(1, 40)},
                                                                      {"F", draw(1, 70)}};
        for (const auto& [name, size] : sizes) INFO(name << " = " << size);
        CAPTURE(name_of(dtype));
        CAPTURE(tf32);
        CHECK(difference(convolution, sizes, dtype, tf32, random) < 4 * tolerance);
      }
    }
  }

  TEST_CASE("whoever chooses, products of any sizes on the emulator are right in every precision") {
    std::mt19937_64 random(dyn::testing::test_seed());
    for (const rkernel::PolicyInfo& info : rkernel::all_policies()) {
      CAPTURE(info.name);
      for (const auto& [dtype, tf32, tolerance] : precisions) {
        for (const auto& [b, m, n, k] :
             {std::array<std::int64_t, 4>{2, 33, 101, 36}, {1, 130, 68, 41}, {2, 3, 4, 0}}) {
          CHECK(difference(product, {{"B", b}, {"M", m}, {"N", n}, {"K", k}}, dtype, tf32, random,
                           info.policy) < 4 * tolerance);
        }
      }
    }
  }

  TEST_CASE("a perceptron on the emulator") {
    std::mt19937_64 random(dyn::testing::test_seed());
    for (const auto& [dtype, tf32, tolerance] : precisions) {
      CAPTURE(name_of(dtype));
      CAPTURE(tf32);
      CHECK(difference(small_perceptron, {{"M", 37}}, dtype, tf32, random) < tolerance);
      CHECK(difference(small_perceptron, {{"M", 1}}, dtype, tf32, random) < tolerance);
      CHECK(difference(small_perceptron, {{"M", 0}}, dtype, tf32, random) == 0);
    }
  }

  TEST_CASE("attention and layer norm on the emulator") {
    std::mt19937_64 random(dyn::testing::test_seed());
    for (const auto& [dtype, tf32, tolerance] : precisions) {
      CAPTURE(name_of(dtype));
      CAPTURE(tf32);
      CHECK(difference(attention, {{"S", 19}}, dtype, tf32, random) < 4 * tolerance);
    }
  }

  TEST_CASE("products of any sizes on the emulator: every way of copying") {
    std::mt19937_64 random(dyn::testing::test_seed());
    // K and N are multiples of 4 or not, so that rows of A and of B begin at 16 bytes or do not.
    constexpr std::int64_t sizes[][4] = {{2, 5, 7, 3},     {1, 33, 64, 36}, {3, 17, 68, 41},
                                         {2, 40, 101, 48}, {1, 1, 1, 1},    {2, 3, 4, 0}};
    for (const auto& [dtype, tf32, tolerance] : precisions) {
      for (const auto& [b, m, n, k] : sizes) {
        CAPTURE(name_of(dtype));
        CAPTURE(tf32);
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        // Inputs are normal: sums grow as the root of K.
        CHECK(difference(product, {{"B", b}, {"M", m}, {"N", n}, {"K", k}}, dtype, tf32, random) <
              4 * tolerance);
      }
    }
  }
}
