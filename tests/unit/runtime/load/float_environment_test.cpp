// What a caller has set for its floating point changes neither what is loaded nor what is computed,
// and is there again afterwards.

#include <fenv.h>
#include <immintrin.h>

#include <cstring>

#include "dyn/dyn.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::uncached;

namespace {

/// Weights that are quantised, and a constant that is folded, at load.
const char* const dense = R"(dyn 1
dim N in 0..64
weight w: f32[40, 48] = random 3
graph g(x: f32[N, 40]) -> (y: f32[N, 48]) {
  y = matmul(x, w) * (exp(0.3) / 7)
  return y
}
)";

const char* const counted = R"(dyn 1
dim N
dim P
graph g(mark: f32[N]) -> (at: i64[1, _]) {
  at = nonzero(mark) count=P
  return at
}
)";

/// A setting of the control register of SSE, until the end of the scope.
class Setting {
 public:
  explicit Setting(unsigned bits) : before_(_mm_getcsr()) { _mm_setcsr(bits); }
  ~Setting() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

constexpr unsigned usual = 0x1f80, upward = usual | 0x4000, without_denormals = usual | 0x8040,
                   all_exceptions_trap = 0;

std::vector<float> product_with(unsigned bits, const std::string& precision) {
  const std::vector<float> x = testing::random_values(7 * 40, 5);
  Options options = uncached(2);
  options.weights = precision;
  const Setting setting(bits);
  const Graph graph = Graph::from_text(dense, options);
  const Outputs outputs = graph.run({{"x", Tensor::view(x.data(), {7, 40})}});
  CHECK((_mm_getcsr() & ~0x3fU) == bits);  // but for the flags of what has happened
  const auto y = outputs[0].data<float>();
  return {y.begin(), y.end()};
}

}  // namespace

TEST_CASE("loading and running give the same bits in any floating-point environment") {
  testing::Sweep sweep(3);
  for (const char* precision : {"f32", "i8", "bf16"}) {
    CAPTURE(precision);
    const std::vector<float> expected = product_with(usual, precision);
    for (const unsigned bits : {upward, without_denormals, all_exceptions_trap}) {
      if (!sweep.takes()) continue;
      CAPTURE(bits);
      const std::vector<float> got = product_with(bits, precision);
      CHECK(std::memcmp(got.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("functions of the host see denormals, whatever the caller's threads do with them") {
  const Graph graph = Graph::from_text(counted, uncached());
  const Tensor mark = Tensor::from<float>({0, 1e-41F, 0, 2}, {4});
  const Setting setting(without_denormals);
  const Outputs outputs = graph.run({{"mark", mark}});
  CHECK(outputs[0].shape() == Shape{1, 2});
}
