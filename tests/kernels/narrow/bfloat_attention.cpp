// Attention by products of bf16, and attention that is found in its parts, beside the reference.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t pair_depths[] = {1, 8, 16, 31, 32, 33, 64, 80, 100},
                       pair_keys[] = {1, 2, 3, 16, 33, 100, 511, 513},
                       pair_queries[] = {1, 5, 16, 30, 70, 200};

/// bf16 holds queries, keys and values as they are, also times the scale: they are multiples of an
/// eighth.
struct WholeAttention {
  std::int64_t queries, keys, depth, value_depth;
  DType dtype = DType::f32;  ///< of keys and values
  bool causal = false, masked = false;
  bool composed = false;  ///< written as products and a softmax

  std::string text() const {
    const bool is_f32 = dtype == DType::f32;
    const auto number = [&](const char* name) {
      return is_f32 ? std::string(name) : fmt::format("cast({}) dtype=f32", name);
    };
    const std::string mask = masked ? ", m: f32[Q, K]" : "";
    const std::string head = fmt::format(
        "dyn 1\ndim B in 1..9\ndim Q in 1..999\ndim K in 1..999\n"
        "graph g(q: f32[B, 3, Q, {0}], k: {2}[B, 3, K, {0}], v: {2}[B, 3, K, {1}]{3}) -> "
        "(y: f32[B, 3, Q, {1}]) {{\n",
        depth, value_depth, name_of(dtype), mask);
    if (!composed)
      return head +
             fmt::format("  y = attention(q, {}, {}{}) scale=0.03125 causal={}\n  return y\n}}\n",
                         number("k"), number("v"), masked ? ", m" : "", causal);
    return head + fmt::format(
                      "  t = transpose({}) perm=[0, 1, 3, 2]\n  s = matmul(q, t)\n"
                      "  u = {}\n  w = {}\n  p = softmax(w) axis=-1\n  y = matmul(p, {})\n"
                      "  return y\n}}\n",
                      number("k"), depth % 2 == 0 ? "s * 0.03125" : "s / 32.0",
                      masked ? "m + u" : "u", number("v"));
  }

  NamedTensors inputs(Random& random) const {
    const std::int64_t batch = random.integer(1, 2);
    const auto made = [&](DType of, std::vector<std::int64_t> dims) {
      Tensor tensor(of, std::move(dims));
      fill(tensor, eighths, random);
      return tensor;
    };
    NamedTensors all{{"q", made(DType::f32, {batch, 3, queries, depth})},
                     {"k", made(dtype, {batch, 3, keys, depth})},
                     {"v", made(dtype, {batch, 3, keys, value_depth})}};
    if (masked) all.push_back({"m", made(DType::f32, {queries, keys})});
    return all;
  }
};

/// The largest difference from the reference.
double difference(const WholeAttention& attention, const Options& options, Random& random) {
  const std::string text = attention.text();
  const NamedTensors inputs = attention.inputs(random);
  Options exact = options;
  exact.precision = "f32";
  const Tensor found = Graph::from_text(text, options).run(inputs)["y"],
               expected = Graph::from_text(text, on_reference(exact)).run(inputs)["y"];
  const auto values = found.data<float>(), wanted = expected.data<float>();
  REQUIRE(values.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    REQUIRE(std::isfinite(values[i]));
    worst = std::max(worst, std::abs(double{values[i]} - double{wanted[i]}));
  }
  return worst;
}

WholeAttention random_attention(Random& random) {
  WholeAttention made{random.pick(pair_queries), random.pick(pair_keys), random.pick(pair_depths),
                      random.pick(pair_depths)};
  made.masked = random.chance(0.3);
  made.composed = random.chance(0.4);
  made.causal = !made.composed && random.chance(0.4);
  if (made.causal) made.keys = std::max(made.keys, made.queries);
  return made;
}

/// Attention whose keys and values are repeated for groups of heads, by the graph, or before it.
struct RepeatedHeads {
  std::int64_t heads, group, keys, depth;
  bool by_graph = true;
  std::string mask = {};  ///< dims

  std::string text() const {
    const auto input = [&](const char* name) {
      return fmt::format("{}: f32[B, {}, K, {}]", name, by_graph ? heads : heads * group, depth);
    };
    const auto repeated = [&](const char* name) {
      if (!by_graph) return std::string(name);
      return fmt::format(
          "reshape(expand(reshape({0}) shape=[B, {1}, 1, K, {3}]) shape=[B, {1}, {2}, K, {3}]) "
          "shape=[B, {4}, K, {3}]",
          name, heads, group, depth, heads * group);
    };
    return fmt::format(
        "dyn 1\ndim B in 1..9\ndim Q in 1..999\ndim K in 1..999\n"
        "graph g(q: f32[B, {0}, Q, {1}], {2}, {3}, m: f32[{4}]) -> (y: f32[B, {0}, Q, {1}]) {{\n"
        "  a = {5}\n  b = {6}\n  y = attention(q, a, b, m) scale=0.03125\n  return y\n}}\n",
        heads * group, depth, input("k"), input("v"), mask, repeated("k"), repeated("v"));
  }

  /// Every head `group` times.
  Tensor repeat(const Tensor& x) const {
    const std::int64_t batch = x.shape()[0], matrix = keys * depth;
    Tensor all(DType::f32, {batch, heads * group, keys, depth});
    for (std::int64_t head = 0; head < batch * heads * group; ++head)
      std::copy_n(x.data<float>().begin() + head / group * matrix, matrix,
                  all.mutable_data<float>().begin() + head * matrix);
    return all;
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("attention whose keys are repeated for groups of heads") {
    Random random("repeated heads");
    for_each_isa(test_rounds(60, 5), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.threads = static_cast<int>(random.integer(1, 3));
      RepeatedHeads heads{random.integer(1, 3), random.integer(1, 5), random.pick(pair_keys),
                          random.pick(pair_depths)};
      const std::int64_t batch = random.integer(1, 2), queries = random.pick(pair_queries),
                         all = heads.heads * heads.group;
      const auto made = [&](std::vector<std::int64_t> dims) {
        Tensor tensor(DType::f32, std::move(dims));
        fill(tensor, eighths, random);
        return tensor;
      };
      const std::pair<std::string, std::vector<std::int64_t>> masks[] = {
          {"Q, K", {queries, heads.keys}},
          {fmt::format("{}, Q, K", all), {all, queries, heads.keys}},
          {"B, 1, Q, K", {batch, 1, queries, heads.keys}},
          {fmt::format("B, {}, 1, K", all), {batch, all, 1, heads.keys}}};
      const auto& [mask, mask_dims] = random.pick(masks);
      heads.mask = mask;
      CAPTURE(heads.text());
      NamedTensors inputs{{"q", made({batch, all, queries, heads.depth})},
                          {"k", made({batch, heads.heads, heads.keys, heads.depth})},
                          {"v", made({batch, heads.heads, heads.keys, heads.depth})},
                          {"m", made(mask_dims)}};
      const Tensor found = Graph::from_text(heads.text(), options).run(inputs)["y"];
      heads.by_graph = false;
      for (auto& [name, tensor] : inputs) {
        if (name == "k" || name == "v") tensor = heads.repeat(tensor);
      }
      const Tensor expected =
          Graph::from_text(heads.text(), on_reference(options)).run(inputs)["y"];
      const auto values = found.data<float>(), wanted = expected.data<float>();
      REQUIRE(values.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        REQUIRE(std::abs(double{values[i]} - double{wanted[i]}) <= 1e-4);
    });
  }

  TEST_CASE("attention by bf16: only shares are rounded where all else is whole") {
    Random random("bfloat attention");
    for_each_isa(test_rounds(80, 4), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.precision = "bf16";
      options.threads = static_cast<int>(random.integer(1, 3));
      WholeAttention attention = random_attention(random);
      constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16};
      attention.dtype = random.pick(dtypes);
      CAPTURE(attention.text());
      CAPTURE(attention.queries);
      CAPTURE(attention.keys);
      // Each share is off by at most 1 in 2^9, and counts in values of at most 9.
      CHECK(difference(attention, options, random) <= 9.0 / 512 + 1e-4);
    });
  }

  TEST_CASE("attention that is found in products and a softmax") {
    Random random("found attention");
    for_each_isa(test_rounds(40, 3), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.threads = static_cast<int>(random.integer(1, 3));
      WholeAttention attention = random_attention(random);
      attention.causal = false;
      attention.composed = true;
      CAPTURE(attention.text());
      CHECK(difference(attention, options, random) <= 1e-4);
    });
  }
}

}  // namespace dyn::testing
