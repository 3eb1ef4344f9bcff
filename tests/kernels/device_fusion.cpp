// Fusion on a GPU's emulator: factors that are computed as their tiles are loaded, gated products,
// products by one left side, reductions of one tensor, and small kernels in one launch. Each beside
// the reference, and bit for bit beside kernels that leave the parts in memory.

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "graph/text/text.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

Options on_emulator(const std::string& precision = "f32") {
  Options options = test_options();
  options.device = "emulator";
  options.precision = precision;
  options.random_weights = true;
  return options;
}

std::size_t problems_of(const Graph& graph) { return graph.model()->problems().size(); }

bool is_on_device(const Graph& graph) {
  for (std::size_t group = 0; group < problems_of(graph); ++group) {
    if (graph.model()->kernel(group).space() != rkernel::Space::Device) return false;
  }
  return true;
}

std::vector<Tensor> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  Call call(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
  call.run();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(call.output(i));
  return outputs;
}

/// A precision, and how far results may be from those of plain loops, over the largest value.
struct Rounding {
  const char* precision;
  double tolerance;
};
constexpr Rounding roundings[] = {{"f32", 1e-5}, {"tf32", 4e-3}, {"f16", 4e-3}, {"bf16", 3e-2}};

/// A text on the emulator, and on plain loops.
class OnBoth {
 public:
  OnBoth(const std::string& text, const Rounding& rounding)
      : rounding_(rounding),
        module_(graph::parse(text)),
        device_(Graph::from_text(text, on_emulator(rounding.precision))),
        reference_(Graph::from_text(text, on_reference(on_emulator()))) {}

  const Graph& graph() const { return device_; }
  std::vector<Tensor> make_inputs(const Sizes& sizes, Random& random) const {
    return testing::make_inputs(module_, sizes, {}, random);
  }

  void check(const std::vector<Tensor>& inputs) const {
    const std::vector<Tensor> actual = outputs_of(device_, inputs),
                              expected = outputs_of(reference_, inputs);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (expected[i].dtype() == DType::f32)
        CHECK(error_of(actual[i], expected[i]) <= rounding_.tolerance);
      else
        CHECK(same_bits(actual[i], expected[i]));
    }
  }

 private:
  static double error_of(const Tensor& actual, const Tensor& expected) {
    const std::span<const float> got = actual.data<float>(), wanted = expected.data<float>();
    REQUIRE(got.size() == wanted.size());
    double largest = 1, worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::fabs(static_cast<double>(got[i]) - wanted[i]);
      worst = std::isnan(error) ? 1e9 : std::max(worst, error);
      largest = std::max(largest, std::fabs(static_cast<double>(wanted[i])));
    }
    return worst / largest;
  }

  const Rounding rounding_;
  const graph::Module module_;
  const Graph device_, reference_;
};

/// K is small: a block waits for few loads, and the kernel before costs as much as all of them.
const char* const factor_texts[] = {
    R"(dyn 1
dim M in 0..9999 hint 4000
weight w: f32[32, 256] = random 3
graph g(x: f32[M, 32], p: f32[M, 1], q: f32[32]) -> (y: f32[M, 256]) {
  y = tanh(matmul(relu(x * p + q) - 0.5, w))
  return y
}
)",
    R"(dyn 1
dim M in 0..9999 hint 4000
weight w: f32[48, 128] = random 3
graph g(x: u8[M, 48], p: f32[48]) -> (y: f32[M, 128]) {
  y = matmul(cast(x) dtype=f32 * p, w)
  return y
}
)",
    R"(dyn 1
dim B in 0..9 hint 8
dim M in 0..999 hint 512
graph g(x: f32[B, M, 24], k: f32[B, 24, 128], q: f32[128]) -> (y: f32[B, M, 128]) {
  y = relu(matmul(x, k * q))
  return y
}
)"};

std::string gated_text(std::int64_t k, std::int64_t n, const char* result) {
  return fmt::format(
      "dyn 1\ndim M in 0..999\nweight a: f32[{0}, {1}] = random 1\n"
      "weight b: f32[{0}, {1}] = random 2\nweight c: f32[{1}] = random 3\n"
      "graph g(x: f32[M, {0}], u: f32[M, {1}], v: f32[M, {1}]) -> (y: f32[M, {1}]) "
      "{{\n  y = {2}\n  return y\n}}\n",
      k, n, result);
}

constexpr std::int64_t rows_on_gpu[] = {0, 1, 7, 33, 130};

TEST_SUITE("fast") {
  TEST_CASE("factors are computed in the product's kernel on a GPU where that is faster") {
    Random random("computed factors on a GPU");
    for (const char* text : factor_texts) {
      CAPTURE(text);
      for (const Rounding& rounding : roundings) {
        CAPTURE(rounding.precision);
        const OnBoth subject(text, rounding);
        CHECK(problems_of(subject.graph()) == 1);
        CHECK(is_on_device(subject.graph()));
        for (const std::int64_t m : rows_on_gpu)
          subject.check(subject.make_inputs({{"M", m}, {"B", 2}}, random));
      }
    }
  }

  TEST_CASE("factors stay in memory on a GPU where a block would wait for many loads") {
    const Graph graph = Graph::from_text(R"(dyn 1
dim M in 0..999 hint 64
weight w: f32[8192, 64] = random 3
graph g(x: f32[M, 8192]) -> (y: f32[M, 64]) {
  y = matmul(relu(x), w)
  return y
}
)",
                                         on_emulator("bf16"));
    CHECK(problems_of(graph) == 2);
  }

  TEST_CASE("gated products are one kernel on a GPU, with the bits of products in memory") {
    Random random("gated products on a GPU");
    for (const std::int64_t k : {1, 37, 96}) {
      for (const std::int64_t n : {32, 96, 160}) {
        CAPTURE(k);
        CAPTURE(n);
        const std::string text = gated_text(k, n, "silu(matmul(x, a)) * (matmul(x, b) + c)");
        const auto load = [&](const char* result) {
          return Graph::from_text(gated_text(k, n, result), on_emulator());
        };
        const Graph first = load("matmul(x, a)"), second = load("matmul(x, b)"),
                    behind = load("silu(u) * (v + c)");
        for (const Rounding& rounding : roundings) {
          CAPTURE(rounding.precision);
          const OnBoth subject(text, rounding);
          CHECK(problems_of(subject.graph()) == 1);
          CHECK(is_on_device(subject.graph()));
          for (const std::int64_t m : rows_on_gpu) {
            CAPTURE(m);
            std::vector<Tensor> inputs = subject.make_inputs({{"M", m}}, random);
            subject.check(inputs);
            if (std::string(rounding.precision) != "f32") continue;
            const Tensor gated = outputs_of(subject.graph(), inputs)[0];
            inputs[1] = outputs_of(first, inputs)[0];
            inputs[2] = outputs_of(second, inputs)[0];
            CHECK(same_bits(gated, outputs_of(behind, inputs)[0]));
          }
        }
      }
    }
  }

  TEST_CASE("blocks that share tiles of gated products add all of their sums") {
    const std::string text = gated_text(3000, 64, "silu(matmul(x, a)) * (matmul(x, b) + c)");
    Random random("shared gated tiles");
    const OnBoth subject(text, roundings[0]);
    subject.check(subject.make_inputs({{"M", 3}}, random));
  }

  TEST_CASE("products by one left side are one product on a GPU") {
    const char* const text = R"(dyn 1
dim S in 1..99
graph g(x: f32[1, S, 64]) -> (y: f32[1, S, 64]) {
  q = matmul(x, wq: f32[64, 64]) + bq: f32[64]
  k = matmul(x, wk: f32[64, 64]) + bk: f32[64]
  v = matmul(x, wv: f32[64, 64]) + bv: f32[64]
  h = attention(reshape(q) shape=[1, 1, S, 64], reshape(k) shape=[1, 1, S, 64], reshape(v) shape=[1, 1, S, 64])
  y = reshape(h) shape=[1, S, 64]
  return y
}
)";
    const OnBoth subject(text, roundings[0]);
    CHECK(problems_of(subject.graph()) == 2);
    Random random("siblings on a GPU");
    subject.check(subject.make_inputs({{"S", 37}}, random));
  }

  TEST_CASE("reductions of one tensor are one pass on a GPU, with the bits of passes alone") {
    const auto text = [](const char* results, const char* body) {
      return fmt::format(
          "dyn 1\ndim B in 0..9\ndim S in 0..999\n"
          "graph g(x: f32[B, S, 96]) -> ({}) {{\n{}}}\n",
          results, body);
    };
    const std::string all =
        text("a: f32[B, S], b: f32[B, S], c: f32[B, S], d: f32[B * S]",
             "  a = reduce_sum(x) axes=[2] keepdims=false\n"
             "  b = reduce_max(x) axes=[2] keepdims=false\n"
             "  c = reduce_sum(x * x) axes=[2] keepdims=false\n"
             "  d = reduce_min(reshape(x) shape=[B * S, 96]) axes=[1] keepdims=false\n"
             "  return a, b, c, d\n");
    const char* const alone[] = {"  a = reduce_sum(x) axes=[2] keepdims=false\n  return a\n",
                                 "  a = reduce_max(x) axes=[2] keepdims=false\n  return a\n",
                                 "  a = reduce_sum(x * x) axes=[2] keepdims=false\n  return a\n"};
    const Subject subject(all, on_emulator());
    CHECK(problems_of(subject.graph()) == 1);
    Random random("reductions of one tensor");
    for (const std::int64_t s : {0, 1, 5, 64, 300}) {
      const Sizes sizes{{"B", 2}, {"S", s}};
      const std::vector<Tensor> inputs = subject.make_inputs(sizes, {}, random);
      CHECK_EQ(subject.check(inputs, {Tolerance::Scale::Absolute, 8}, sizes), "");
      const std::vector<Tensor> together = outputs_of(subject.graph(), inputs);
      for (std::size_t i = 0; i < 3; ++i) {
        const Graph one = Graph::from_text(text("a: f32[B, S]", alone[i]), on_emulator());
        CHECK(same_bits(together[i], outputs_of(one, inputs)[0]));
      }
    }
  }

  TEST_CASE("small independent kernels are one launch on a GPU, with the bits of launches alone") {
    const auto text = [](const char* results, const std::string& body) {
      return fmt::format(
          "dyn 1\ndim A in 0..900 hint 100\ndim C in 0..900 hint 40\n"
          "graph g(x: f32[A, 33], y: f32[C, 7], z: f32[A, C], i: i64[C]) -> ({}) {{\n{}}}\n",
          results, body);
    };
    const char* const bodies[] = {"  {0} = tanh(x) * 2.0\n", "  {0} = softmax(y) axis=-1\n",
                                  "  {0} = reduce_max(z) axes=[1]\n", "  {0} = i * 3\n"};
    const char* const types[] = {"{0}: f32[A, 33]", "{0}: f32[C, 7]", "{0}: f32[A, 1]",
                                 "{0}: i64[C]"};
    const char* const names[] = {"a", "b", "c", "d"};
    std::string results, body;
    for (std::size_t i = 0; i < 4; ++i) {
      results += (i > 0 ? ", " : "") + fmt::format(fmt::runtime(types[i]), names[i]);
      body += fmt::format(fmt::runtime(bodies[i]), names[i]);
    }
    const Subject subject(text(results.c_str(), body + "  return a, b, c, d\n"), on_emulator());
    CHECK(problems_of(subject.graph()) == 1);
    Random random("small kernels");
    for (const std::int64_t a : {0, 1, 30, 500}) {
      for (const std::int64_t c : {0, 3, 700}) {
        CAPTURE(a);
        CAPTURE(c);
        const Sizes sizes{{"A", a}, {"C", c}};
        const std::vector<Tensor> inputs = subject.make_inputs(sizes, {}, random);
        CHECK_EQ(subject.check(inputs, {Tolerance::Scale::Largest, 64}, sizes), "");
        const std::vector<Tensor> together = outputs_of(subject.graph(), inputs);
        for (std::size_t i = 0; i < 4; ++i) {
          const Graph one =
              Graph::from_text(text(fmt::format(fmt::runtime(types[i]), "a").c_str(),
                                    fmt::format(fmt::runtime(bodies[i]), "a") + "  return a\n"),
                               on_emulator());
          CHECK(same_bits(together[i], outputs_of(one, inputs)[0]));
        }
      }
    }
  }

  TEST_CASE("a kernel does not join a launch before what it reads is written") {
    const char* const text = R"(dyn 1
dim A in 0..900 hint 100
graph g(x: f32[A, 33], y: f32[A, 5]) -> (a: f32[A, 1], b: f32[A, 5]) {
  a = reduce_sum(x) axes=[1]
  m = reduce_max(a) axes=[0]
  b = y * m
  return a, b
}
)";
    const Subject subject(text, on_emulator());
    CHECK(problems_of(subject.graph()) > 1);
    Random random("dependent kernels");
    const Sizes sizes{{"A", 70}};
    CHECK_EQ(subject.check(subject.make_inputs(sizes, {}, random), {Tolerance::Scale::Largest, 64},
                           sizes),
             "");
  }
}

}  // namespace
}  // namespace dyn::testing
