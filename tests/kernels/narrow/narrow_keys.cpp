// Attention over keys and values of 16 bits, or of i8 with a scale for each row, beside the
// reference.

#include <algorithm>
#include <cmath>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t key_depths[] = {1, 8, 16, 24, 33, 64, 80},
                       key_counts[] = {1, 3, 16, 33, 100, 700},
                       query_counts[] = {1, 2, 5, 16, 30, 70};

/// Two heads share the keys of one.
struct NarrowKeys {
  DType dtype;
  std::int64_t queries, keys, depth, value_depth;
  bool causal, masked;

  bool scaled() const { return dtype == DType::i8; }

  /// The f32 rows of "k" or "v".
  std::string rows(const std::string& name, std::int64_t width) const {
    const std::string cast = fmt::format("cast({}) dtype=f32", name);
    const std::string number = scaled() ? fmt::format("({}) * {}s", cast, name) : cast;
    return fmt::format(
        "  {0}f = {1}\n  {0}r = reshape({0}f) shape=[B, 2, 1, K, {2}]\n"
        "  {0}e = expand({0}r) shape=[B, 2, 2, K, {2}]\n",
        name, number, width);
  }

  std::string text() const {
    const std::string mask = masked ? ", m: f32[Q, K]" : "",
                      scales = scaled() ? ", ks: f32[B, 2, K, 1], vs: f32[B, 2, K, 1]" : "";
    return fmt::format(
        "dyn 1\ndim B in 1..9\ndim Q in 1..999\ndim K in 1..999\n"
        "graph g(q: f32[B, 2, 2, Q, {0}], k: {2}[B, 2, K, {0}], v: {2}[B, 2, K, {1}]{3}{4}) -> "
        "(y: f32[B, 2, 2, Q, {1}]) {{\n{5}{6}  y = attention(q, ke, ve{7}) causal={8}\n"
        "  return y\n}}\n",
        depth, value_depth, name_of(dtype), scales, mask, rows("k", depth), rows("v", value_depth),
        masked ? ", m" : "", causal);
  }

  NamedTensors inputs(Random& random) const {
    const std::int64_t batch = random.integer(1, 2);
    Tensor q(DType::f32, {batch, 2, 2, queries, depth}), k(dtype, {batch, 2, keys, depth}),
        v(dtype, {batch, 2, keys, value_depth}), ks(DType::f32, {batch, 2, keys, 1}),
        vs(DType::f32, {batch, 2, keys, 1}), m(DType::f32, {queries, keys});
    const auto numbers = scaled() ? uniform(-128, 127) : uniform(-1, 2);
    fill(q, uniform(-1, 2), random), fill(k, numbers, random), fill(v, numbers, random);
    fill(ks, uniform(0.001, 0.02), random), fill(vs, uniform(0.001, 0.02), random);
    fill(m, uniform(-2, 1), random);
    NamedTensors all{{"q", q}, {"k", k}, {"v", v}};
    if (scaled()) all.insert(all.end(), {{"ks", ks}, {"vs", vs}});
    if (masked) all.push_back({"m", m});
    return all;
  }
};

void check_attention(const NarrowKeys& keys, const Options& options, Random& random) {
  const std::string text = keys.text();
  CAPTURE(text);
  CAPTURE(keys.queries);
  CAPTURE(keys.keys);
  const NamedTensors inputs = keys.inputs(random);
  const Tensor found = Graph::from_text(text, options).run(inputs)["y"],
               expected = Graph::from_text(text, on_reference(options)).run(inputs)["y"];
  const auto values = found.data<float>(), wanted = expected.data<float>();
  REQUIRE(values.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(double{values[i]} - double{wanted[i]}));
  CHECK(worst <= 3e-5);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("attention over narrow keys: every instruction set, random sizes") {
    Random random("narrow keys");
    for_each_isa(test_rounds(60, 3), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.threads = static_cast<int>(random.integer(1, 3));
      constexpr DType dtypes[] = {DType::f16, DType::bf16, DType::i8};
      NarrowKeys keys{random.pick(dtypes),     random.pick(query_counts), random.pick(key_counts),
                      random.pick(key_depths), random.pick(key_depths),   random.chance(0.4),
                      random.chance(0.3)};
      if (keys.causal) keys.keys = std::max(keys.keys, keys.queries);
      check_attention(keys, options, random);
    });
  }
}

}  // namespace dyn::testing
