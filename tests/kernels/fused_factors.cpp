// Factors that are computed where they are moved, several products in one kernel, and products
// whose columns go to several tensors: beside the reference, and bit for bit beside kernels that
// leave everything in memory.

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t depths[] = {1, 7, 16, 33, 64, 130, 515};
constexpr std::int64_t rows_of_runs[] = {0, 1, 2, 13, 14, 15, 37, 200};

/// A split K adds in another order.
Options one_order(const std::string& isa) {
  Options options = test_options(isa);
  options.threads = 1;
  options.deterministic = true;
  return options;
}

/// Dots along K may give the columns of constant matrices behind the last whole vector, where the
/// left factor is in memory.
bool has_whole_vectors(std::int64_t columns) { return columns % 16 == 0; }

/// The same but for the order of additions.
bool are_close(const Tensor& a, const Tensor& b) {
  const std::span<const float> x = a.data<float>(), y = b.data<float>();
  float largest = 0, worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    worst = std::max(worst, std::abs(x[i] - y[i]));
  }
  return worst <= 1e-5f * largest;
}

/// Plain loops take long for more.
constexpr std::int64_t most_rows_of_reference = 15;

void check_by_reference(const Subject& subject, const std::vector<Tensor>& inputs,
                        const Sizes& sizes) {
  CHECK_EQ(subject.check(inputs, {Tolerance::Scale::Values, 64}, sizes), "");
}

Tensor first_output(const Graph& graph, const std::vector<Tensor>& inputs) {
  Call call(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
  call.run();
  return call.output(0);
}

std::size_t kernels_of(const Graph& graph) { return graph.model()->problems().size(); }

/// A factor t, and the product y.
struct ComputedFactor {
  const char* what;
  const char* parameters;
  const char* factor;
  const char* product;
};

const ComputedFactor factor_cases[] = {
    {"one operand of rows", "x: f32[B, M, {k}]", "relu(x)", "matmul(t, w)"},
    {"operands of all kinds", "x: f32[B, M, {k}], p: f32[B, M, 1], q: f32[{k}]",
     "relu(x * p + q) - 0.5", "matmul(t, w)"},
    {"two operands of rows", "x: f32[B, M, {k}], p: f32[B, M, {k}]", "maximum(x, p)",
     "tanh(matmul(t, w))"},
    {"a dtype of its own", "x: u8[B, M, {k}], p: f32[{k}]", "cast(x) dtype=f32 * p",
     "matmul(t, w)"},
    {"rows behind a view", "x: f32[B, {k}, M]", "relu(transpose(x) perm=[0, 2, 1])",
     "matmul(transpose(t) perm=[0, 2, 1], z)"},
};

/// `stored`: t is a result too, so it goes through memory. `fresh`: w is an input.
struct FactorText {
  bool stored = false, fresh = false;
};

std::string factor_text(const ComputedFactor& item, std::int64_t k, std::int64_t n,
                        FactorText form) {
  std::string parameters = item.parameters;
  for (std::size_t at = parameters.find("{k}"); at != std::string::npos;
       at = parameters.find("{k}"))
    parameters.replace(at, 3, std::to_string(k));
  const bool turned = std::string(item.product).find("z)") != std::string::npos;
  const std::string rows = turned ? std::to_string(k) : "M";
  if (turned) parameters += fmt::format(", z: f32[B, M, {}]", n);
  if (form.fresh) parameters += fmt::format(", w: f32[{}, {}]", k, n);
  return fmt::format(
      "dyn 1\ndim B in 0..9\ndim M in 0..999\n{}"
      "graph g({}) -> (y: f32[B, {}, {}]{}) {{\n  t = {}\n  y = {}\n  return y{}\n}}\n",
      form.fresh ? "" : fmt::format("weight w: f32[{}, {}] = random 3\n", k, n), parameters, rows,
      n, form.stored ? fmt::format(", t: f32[B, M, {}]", k) : "", item.factor, item.product,
      form.stored ? ", t" : "");
}

void check_factor(const ComputedFactor& item, std::int64_t k, std::int64_t n, Random& random,
                  const std::string& isa) {
  const std::string text = factor_text(item, k, n, {});
  CAPTURE(text);
  const Graph fused = Graph::from_text(text, one_order(isa)),
              stored = Graph::from_text(factor_text(item, k, n, {.stored = true}), one_order(isa));
  const Subject subject(text, isa), by_input(factor_text(item, k, n, {.fresh = true}), isa);
  // A factor of one column may be a scalar for each row, which no copy moves.
  for (const Graph* graph : {&fused, &subject.graph(), &by_input.graph()})
    CHECK(kernels_of(*graph) <= (k == 1 ? 2 : 1));
  for (const std::int64_t m : rows_of_runs) {
    for (const std::int64_t batch : {1, 3}) {
      CAPTURE(m);
      CAPTURE(batch);
      const Sizes sizes{{"M", m}, {"B", batch}};
      const std::vector<Tensor> inputs = subject.make_inputs(sizes, {}, random);
      const Tensor computed = first_output(fused, inputs), read = first_output(stored, inputs);
      CHECK((has_whole_vectors(n) ? same_bits(computed, read) : are_close(computed, read)));
      if (m <= most_rows_of_reference)
        check_by_reference(by_input, by_input.make_inputs(sizes, {}, random), sizes);
    }
  }
}

/// A convolution of an image t, which is computed of x.
struct ComputedImage {
  const char* what;
  const char* image;   ///< over x: f32[B, H, W, C], p: f32[C], q: f32[1, 1, C]
  std::int64_t c, n;   ///< channels, filters
  const char* filter;  ///< the filter's taps
  const char* windows;
};

// Filters have the columns that the work asks for: 32 for each operator, and for each window that
// an element is in where windows do not lie in strips.
const ComputedImage image_cases[] = {
    {"normalised rows in strips", "relu(x * p + q)", 64, 96, "3, 3", "before=[1, 1] after=[1, 1]"},
    {"channels that are no whole vectors", "relu(x * p + q)", 19, 96, "3, 3",
     "before=[1, 1] after=[1, 1]"},
    {"one operator, a stride, more padding before", "x + q", 16, 64, "3, 5",
     "strides=[2, 2] before=[2, 3] after=[1, 1]"},
    {"every other pixel", "relu(x) + 0.5", 33, 64, "1, 1", "strides=[2, 2]"},
    {"taps that lie apart", "x - 2.0", 16, 288, "3, 3",
     "dilations=[2, 2] before=[2, 2] after=[2, 2]"},
    {"blocks of K", "x + q", 130, 64, "3, 3", "before=[1, 1] after=[1, 1]"},
};

/// Rows and columns around tiles, and images smaller than the window.
const Sizes images_of_work[] = {{{"B", 0}, {"H", 4}, {"W", 4}},
                                {{"B", 1}, {"H", 1}, {"W", 1}},
                                {{"B", 2}, {"H", 7}, {"W", 5}},
                                {{"B", 1}, {"H", 2}, {"W", 19}},
                                {{"B", 3}, {"H", 9}, {"W", 14}}};

std::string image_text(const ComputedImage& item, FactorText form) {
  const std::string filter = fmt::format("f: f32[{}, {}, {}]", item.filter, item.c, item.n);
  return fmt::format(
      "dyn 1\ndim B in 0..9\ndim H in 1..99\ndim W in 1..99\n{0}"
      "graph g(x: f32[B, H, W, {1}], p: f32[{1}], q: f32[1, 1, {1}]{2}) -> "
      "(y: f32[_, _, _, _]{3}) {{\n  t = {4}\n  y = tanh(conv(t, f) {5})\n  return y{6}\n}}\n",
      form.fresh ? "" : fmt::format("weight {} = random 3\n", filter), item.c,
      form.fresh ? ", " + filter : "",
      form.stored ? fmt::format(", t: f32[B, H, W, {}]", item.c) : "", item.image, item.windows,
      form.stored ? ", t" : "");
}

void check_image(const ComputedImage& item, Random& random, const std::string& isa) {
  const std::string text = image_text(item, {});
  CAPTURE(text);
  const Graph fused = Graph::from_text(text, one_order(isa)),
              stored = Graph::from_text(image_text(item, {.stored = true}), one_order(isa));
  const Subject subject(text, isa), by_input(image_text(item, {.fresh = true}), isa);
  for (const Graph* graph : {&fused, &subject.graph(), &by_input.graph()})
    CHECK(kernels_of(*graph) == 1);
  for (const Sizes& sizes : images_of_work) {
    CAPTURE(sizes.at("H"));
    const std::vector<Tensor> inputs = subject.make_inputs(sizes, {}, random);
    CHECK(same_bits(first_output(fused, inputs), first_output(stored, inputs)));
    check_by_reference(by_input, by_input.make_inputs(sizes, {}, random), sizes);
  }
}

TEST_SUITE("fast") {
  TEST_CASE("factors that are computed where they are moved have the bits of those in memory") {
    Random random("computed factors");
    for_each_isa(1, [&](const codegen::Isa& isa) {
      Sweep sweep(5);
      for (const ComputedFactor& item : factor_cases) {
        CAPTURE(item.what);
        for (const std::int64_t k : depths) {
          for (const std::int64_t n : {128, 129, 160, 197}) {
            if (sweep.takes()) check_factor(item, k, n, random, isa.name);
          }
        }
      }
    });
  }

  TEST_CASE(
      "rows that no cache holds are computed block by block, with the bits of those in memory") {
    Random random("computed blocks");
    for_each_isa(1, [&](const codegen::Isa& isa) {
      const std::int64_t k = 5003, n = 128;
      const ComputedFactor& item = factor_cases[0];
      const std::string text = factor_text(item, k, n, {});
      const Graph fused = Graph::from_text(text, one_order(isa.name)),
                  stored = Graph::from_text(factor_text(item, k, n, {.stored = true}),
                                            one_order(isa.name));
      const std::vector<Tensor> inputs =
          Subject(text, isa.name).make_inputs({{"M", 200}, {"B", 1}}, {}, random);
      CHECK(same_bits(first_output(fused, inputs), first_output(stored, inputs)));
    });
  }

  TEST_CASE(
      "right factors that are computed where they are packed have the bits of those in memory") {
    Random random("computed right factors");
    for_each_isa(1, [&](const codegen::Isa& isa) {
      for (const char* factor : {"k * q", "relu(k) + p", "maximum(k, q * p)"}) {
        const auto text = [&](bool stored) {
          return fmt::format(
              "dyn 1\ndim B in 0..9\ndim M in 0..999\ndim K in 0..999\ndim T in 64..999\n"
              "graph g(x: f32[B, M, K], k: f32[B, K, T], q: f32[T], p: f32[B, K, 1]) -> "
              "(y: f32[B, M, T]{}) {{\n  t = {}\n  y = relu(matmul(x, t))\n  return y{}\n}}\n",
              stored ? ", t: f32[B, K, T]" : "", factor, stored ? ", t" : "");
        };
        CAPTURE(text(false));
        const Graph fused = Graph::from_text(text(false), one_order(isa.name)),
                    stored = Graph::from_text(text(true), one_order(isa.name));
        CHECK(kernels_of(fused) == 1);
        const Subject subject(text(false), isa.name);
        for (const std::int64_t m : rows_of_runs) {
          const Sizes sizes{{"B", random.integer(1, 3)},
                            {"M", m},
                            {"K", random.integer(0, 200)},
                            {"T", random.integer(64, 300)}};
          const std::vector<Tensor> inputs = subject.make_inputs(sizes, {}, random);
          CAPTURE(m);
          CHECK(same_bits(first_output(fused, inputs), first_output(stored, inputs)));
          if (m <= most_rows_of_reference) check_by_reference(subject, inputs, sizes);
        }
      }
    });
  }

  TEST_CASE(
      "images that are computed where windows are copied have 0 outside, as those in memory") {
    Random random("computed images");
    for_each_isa(1, [&](const codegen::Isa& isa) {
      for (const ComputedImage& item : image_cases) {
        CAPTURE(item.what);
        check_image(item, random, isa.name);
      }
    });
  }

  TEST_CASE("gated products in one kernel have the bits of products in memory") {
    Random random("gated products");
    for_each_isa(1, [&](const codegen::Isa& isa) {
      for (const std::int64_t k : {1, 31, 96, 515}) {
        for (const std::int64_t n : {32, 96, 160}) {
          const auto text = [&](const char* results, const char* body) {
            return fmt::format(
                "dyn 1\ndim M in 0..999\nweight a: f32[{0}, {1}] = random 1\n"
                "weight b: f32[{0}, {1}] = random 2\nweight c: f32[{1}] = random 3\n"
                "graph g(x: f32[M, {0}], u: f32[M, {1}], v: f32[M, {1}]) -> ({2}: f32[M, {1}]) "
                "{{\n  {3}\n  return {2}\n}}\n",
                k, n, results, body);
          };
          const auto load = [&](const char* body) {
            return Graph::from_text(text("y", body), one_order(isa.name));
          };
          CAPTURE(k);
          CAPTURE(n);
          const Graph fused = load("y = silu(matmul(x, a)) * (matmul(x, b) + c)"),
                      first = load("y = matmul(x, a)"), second = load("y = matmul(x, b)"),
                      behind = load("y = silu(u) * (v + c)");
          CHECK(kernels_of(fused) == 1);
          const Subject subject(text("y", "y = u + v"), isa.name);
          for (const std::int64_t m : rows_of_runs) {
            CAPTURE(m);
            std::vector<Tensor> inputs = subject.make_inputs({{"M", m}}, {}, random);
            const Tensor gated = first_output(fused, inputs);
            inputs[1] = first_output(first, inputs);
            inputs[2] = first_output(second, inputs);
            CHECK(same_bits(gated, first_output(behind, inputs)));
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace dyn::testing
