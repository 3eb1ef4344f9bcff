// Products of u8 by i8, bit for bit beside the reference: random sizes, layouts, epilogues
// and options, on every instruction set of this CPU.

#include <algorithm>
#include <map>
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

/// A model of one product, and the sizes of its run.
struct Product {
  std::string text;
  std::vector<std::int64_t> shape;        ///< of x
  std::vector<std::int64_t> factor = {};  ///< of v, where the right side is no weight
};

constexpr std::int64_t depths[] = {1, 3, 4, 7, 8, 12, 36, 64, 99, 100, 256, 640, 3072};
constexpr std::int64_t widths[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 64, 65, 96, 130, 300};
constexpr std::int64_t heights[] = {0, 1, 2, 3, 5, 8, 13, 14, 15, 29, 61, 128};

/// `sums` as they are, and as bytes again. Numbers and scale have few bits: nothing is rounded but
/// where both sides do.
std::string results_of(std::int64_t columns, Random& random) {
  std::string text = fmt::format("  t = sums + c: i32[{}]\n", columns);
  text += random.chance(0.5) ? "  u = maximum(t, 0)\n" : "  u = t\n";
  text +=
      "  q = cast(minimum(maximum(round((cast(u) dtype=f32) * 0.0009765625) + 3, 0), 255)) "
      "dtype=u8\n";
  return text + "  return sums, q\n}\n";
}

std::string signature(const std::string& dims, const std::string& x, const std::string& y) {
  return fmt::format("dyn 1\n{0}graph g(x: u8[{1}]) -> (sums: i32[{2}], q: u8[{2}]) {{\n", dims, x,
                     y);
}

/// One product of matrices; x lies as it is, turned, or is a part of another tensor.
Product matrix_product(Random& random) {
  std::int64_t k = random.pick(depths), n = random.pick(widths), m = random.pick(heights);
  // Few sums of very many terms are cut along K.
  if (random.chance(0.1))
    k = 24576, n = std::min<std::int64_t>(n, 33), m = std::min<std::int64_t>(m, 5);
  const bool turned = random.chance(0.15), is_part = !turned && random.chance(0.2),
             has_batch = !turned && !is_part && random.chance(0.3), transposes = random.chance(0.3);
  const std::string rows = turned      ? fmt::format("{}, M", k)
                           : is_part   ? fmt::format("M, {}", k + 5)
                           : has_batch ? fmt::format("2, M, {}", k)
                                       : fmt::format("M, {}", k);
  Product product{
      signature("dim M in 0..200\n", rows, fmt::format("{}M, {}", has_batch ? "2, " : "", n)),
      {m, k}};
  if (turned) std::swap(product.shape[0], product.shape[1]);
  if (is_part) product.shape[1] += 5;
  if (has_batch) product.shape.insert(product.shape.begin(), 2);
  if (is_part) product.text += fmt::format("  p = slice(x) axes=[1] starts=[3] ends=[{}]\n", k + 3);
  product.text +=
      fmt::format("  sums = matmul({}, w: i8[{}]){}{}\n", is_part ? "p" : "x",
                  transposes ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n),
                  turned ? " transpose_a=true" : "", transposes ? " transpose_b=true" : "");
  product.text += results_of(n, random);
  return product;
}

/// One product of two matrices that arrive with the call, each of which may lie turned; the depth
/// may be known only then.
Product fresh_product(Random& random) {
  const std::int64_t k = random.pick(depths), n = random.pick(widths), m = random.pick(heights);
  const bool left_turned = random.chance(0.2), turned = random.chance(0.4),
             known = random.chance(0.5), has_batch = random.chance(0.3);
  const std::string depth = known ? fmt::format("{}", k) : "K", batch = has_batch ? "2, " : "",
                    right = has_batch && random.chance(0.5) ? "2, " : "";
  const auto matrix = [](const std::string& rows, const std::string& columns, bool is_turned) {
    return is_turned ? columns + ", " + rows : rows + ", " + columns;
  };
  Product product;
  product.text = fmt::format(
      "dyn 1\ndim M in 0..200\ndim N in 1..400\ndim K in 1..4000\n"
      "graph g(x: u8[{0}{1}], v: i8[{2}{3}]) -> (sums: i32[{0}M, N], q: u8[{0}M, N]) {{\n"
      "  sums = matmul(x, v){4}{5}\n",
      batch, matrix("M", depth, left_turned), right, matrix(depth, "N", turned),
      left_turned ? " transpose_a=true" : "", turned ? " transpose_b=true" : "");
  product.text += results_of(1, random);
  product.shape = {m, k};
  product.factor = {k, n};
  if (left_turned) std::swap(product.shape[0], product.shape[1]);
  if (turned) std::swap(product.factor[0], product.factor[1]);
  if (has_batch) product.shape.insert(product.shape.begin(), 2);
  if (!right.empty()) product.factor.insert(product.factor.begin(), 2);
  return product;
}

/// One convolution over two axes, whose padding is no 0.
Product convolution(Random& random) {
  constexpr std::int64_t channels[] = {1, 3, 4, 8, 20, 64};
  constexpr std::int64_t results[] = {1, 8, 16, 33, 48, 64};
  const std::int64_t c = random.pick(channels), o = random.pick(results),
                     size = random.integer(1, 3), stride = random.integer(1, 2),
                     dilation = random.integer(1, 2), pad = random.integer(0, size - 1);
  const std::int64_t height = random.integer(6, 19), width = random.integer(6, 19);
  const auto count = [&](const char* name) {
    const std::int64_t reach = (size - 1) * dilation + 1;
    return fmt::format("floordiv({} + {}, {}) + 1", name, 2 * pad - reach, stride);
  };
  Product product{signature("dim H in 6..40\ndim W in 6..40\n", fmt::format("2, H, W, {}", c),
                            fmt::format("2, {}, {}, {}", count("H"), count("W"), o)),
                  {2, height, width, c}};
  product.text += fmt::format(
      "  sums = conv(x, w: i8[{0}, {0}, {1}, {2}]) strides=[{3}, {3}] dilations=[{4}, {4}] "
      "before=[{5}, {5}] after=[{5}, {5}] value={6}\n",
      size, c, o, stride, dilation, pad, random.integer(0, 255));
  product.text += results_of(o, random);
  return product;
}

void check(const Product& product, const Options& options, Random& random) {
  CAPTURE(product.text);
  Options plain = on_reference(options);
  plain.precision = "f32";
  const Graph graph = Graph::from_text(product.text, options),
              reference = Graph::from_text(product.text, plain);
  Tensor x(DType::u8, product.shape);
  fill(x, uniform(0, 255), random);
  NamedTensors inputs{{"x", x}};
  if (!product.factor.empty()) {
    Tensor v(DType::i8, product.factor);
    fill(v, uniform(-128, 127), random);
    inputs.emplace_back("v", v);
  }
  const auto found = graph.run(inputs), expected = reference.run(inputs);
  for (const char* name : {"sums", "q"}) {
    CAPTURE(name);
    CHECK(same_bits(found[name], expected[name]));
  }
}

/// All groups are on the device, and the product is one of bytes there; none of too few elements
/// that lie side by side along K.
void check_multiplies_bytes(const Graph& graph) {
  const runtime::Model& model = *graph.model();
  int products = 0;
  for (std::size_t group = 0; group < model.problems().size(); ++group) {
    const rkernel::Problem& problem = model.problems()[group];
    INFO(to_string(problem));
    CHECK(model.kernel(group).space() == rkernel::Space::Device);
    if (!problem.contraction) continue;
    ++products;
    const auto& window = problem.operands[static_cast<std::size_t>(problem.contraction->a)].window;
    const graph::Dim run =
        window ? window->channels
               : problem.axes[static_cast<std::size_t>(problem.contraction->k)].extent;
    if (graph::bounds(run).high < graph::least_grouped_depth) continue;
    const auto dtype = [&](int factor) {
      return problem.operands[static_cast<std::size_t>(factor)].dtype;
    };
    CHECK(dtype(problem.contraction->a) == DType::u8);
    CHECK(dtype(problem.contraction->b) == DType::i8);
  }
  CHECK(products == 1);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("integer products: every instruction set, random options, the reference's bits") {
    Random random("integer products");
    for_each_isa(test_rounds(160, 4), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.random_weights = true;
      options.threads = static_cast<int>(random.integer(1, 3));
      options.deterministic = random.chance(0.3);
      CAPTURE(options.threads);
      const Product product = random.chance(0.3)   ? convolution(random)
                              : random.chance(0.5) ? matrix_product(random)
                                                   : fresh_product(random);
      check(product, options, random);
    });
  }

  TEST_CASE("integer products on a GPU: on tensor cores, the reference's bits") {
    Random random("integer products on a GPU");
    Options options = test_options();
    options.device = "emulator";
    options.random_weights = true;
    for (int i = 0; i < test_rounds(60, 6); ++i) {
      constexpr const char* precisions[] = {"f32", "bf16"};
      options.precision = random.pick(precisions);
      const Product product = i % 3 == 0   ? convolution(random)
                              : i % 3 == 1 ? matrix_product(random)
                                           : fresh_product(random);
      check_multiplies_bytes(Graph::from_text(product.text, options));
      check(product, options, random);
    }
  }

  TEST_CASE("integer products of few steps on a GPU are of floats, which they cast themselves") {
    Random random("integer products of few steps");
    Options options = test_options();
    options.device = "emulator";
    options.random_weights = true;
    for (const char* precision : {"f32", "bf16"}) {
      options.precision = precision;
      for (const std::int64_t k : {1, 2}) {
        const Product product{
            fmt::format("dyn 1\ndim M in 0..200\n"
                        "graph g(x: u8[2, M, {0}]) -> (sums: i32[2, M, 64], q: u8[2, M, 64]) {{\n"
                        "  sums = matmul(x, w: i8[{0}, 64])\n",
                        k) +
                results_of(64, random),
            {2, random.integer(40, 70), k}};
        const Graph graph = Graph::from_text(product.text, options);
        const auto& problems = graph.model()->problems();
        REQUIRE(problems.size() == 1);
        CHECK(problems[0].contraction.value().a_value >= 0);
        CHECK(graph.model()->kernel(0).space() == rkernel::Space::Device);
        check(product, options, random);
      }
    }
  }

  TEST_CASE("an integer product that a GPU refuses is the host's") {
    Random random("integer products of the host");
    Options options = test_options();
    options.device = "emulator";
    options.random_weights = true;
    const Product product{
        "dyn 1\ndim M in 0..99\ngraph g(x: u8[M, 76]) -> (sums: i32[M, 33], q: f64[M, 33]) {\n"
        "  sums = matmul(x, w: i8[76, 33])\n  q = (cast(sums) dtype=f64) * 0.1\n"
        "  return sums, q\n}\n",
        {7, 76}};
    const Graph graph = Graph::from_text(product.text, options);
    const auto& problems = graph.model()->problems();
    for (std::size_t group = 0; group < problems.size(); ++group) {
      if (problems[group].contraction)
        CHECK(graph.model()->kernel(group).space() == rkernel::Space::Host);
    }
    check(product, options, random);
  }
}

}  // namespace dyn::testing
