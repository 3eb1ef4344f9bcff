// Attention that exporters write as products, masks and a softmax, beside the reference, which
// computes these parts.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "graph/ir/op.hpp"
#include "graph/passes/products/find_attention.hpp"
#include "graph/text/text.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

enum class Hides { Nothing, Sum, WhereTrue, WhereFalse };

struct ExportedAttention {
  std::int64_t heads = 1, group = 1, queries = 1, keys = 1, depth = 1;
  Hides hides = Hides::Nothing;
  bool scales_factors = false;  ///< queries and keys have a number each, else scores have one
  bool turns_product = false;   ///< the product turns the keys, else a transposition
  bool guards = false;          ///< NaN among the shares becomes 0

  std::string mask() const {
    switch (hides) {
      case Hides::Sum: return ", m: f32[B, 1, Q, K]";
      case Hides::WhereTrue:
      case Hides::WhereFalse: return ", m: bool[Q, K]";
      default: return "";
    }
  }
  std::string hidden() const {
    switch (hides) {
      case Hides::Sum: return "u + m";
      case Hides::WhereTrue: return "where(m, least, u)";
      case Hides::WhereFalse: return "where(m, u, least)";
      default: return "u";
    }
  }
  std::string repeated(const char* name) const {
    return group == 1 ? std::string(name)
                      : fmt::format(
                            "reshape(expand(reshape({0}) shape=[B, {1}, 1, K, {3}]) "
                            "shape=[B, {1}, {2}, K, {3}]) shape=[B, {4}, K, {3}]",
                            name, heads, group, depth, heads * group);
  }

  std::string text() const {
    const std::string keys_of_product = turns_product ? "a" : "transpose(a) perm=[0, 1, 3, 2]";
    return fmt::format(
        "dyn 1\ndim B in 1..9\ndim Q in 1..999\ndim K in 1..999\n"
        "weight least: f32[1] = splat -3.4028234663852886e38\nweight zero: f32[1] = splat 0\n"
        "graph g(q: f32[B, {0}, Q, {1}], k: f32[B, {2}, K, {1}], v: f32[B, {2}, K, {1}]{3}) -> "
        "(y: f32[B, {0}, Q, {1}]) {{\n"
        "  a = {4}\n  c = {5}\n  t = {6}\n  s = matmul({7}){8}\n  u = {9}\n  w = {10}\n"
        "  p = softmax(w) axis=-1\n  x = {11}\n  y = matmul(x, c)\n  return y\n}}\n",
        heads * group, depth, heads, mask(), repeated("k"), repeated("v"), keys_of_product,
        scales_factors ? "q * 0.25, 0.125 * t" : "q, t", turns_product ? " transpose_b=true" : "",
        scales_factors ? "s" : "s * 0.03125", hidden(), guards ? "where(isnan(p), zero, p)" : "p");
  }

  /// Rows that see no key are 0 where the graph says so, a mean where the least number hides keys.
  Tensor made_mask(std::int64_t batch, Random& random) const {
    if (hides != Hides::Sum) {
      Tensor mask(DType::boolean, {queries, keys});
      for (bool& each : mask.mutable_data<bool>()) each = random.chance(0.4);
      return mask;
    }
    Tensor mask(DType::f32, {batch, 1, queries, keys});
    fill(mask, eighths, random);
    for (std::int64_t row = 0; guards && row < batch * queries; ++row) {
      const double hidden = random.chance(0.2) ? 1 : 0.3;
      for (std::int64_t key = 0; key < keys; ++key)
        if (random.chance(hidden))
          mask.mutable_data<float>()[static_cast<std::size_t>(row * keys + key)] =
              -std::numeric_limits<float>::infinity();
    }
    return mask;
  }

  NamedTensors inputs(Random& random) const {
    const std::int64_t batch = random.integer(1, 2);
    const auto made = [&](std::vector<std::int64_t> dims) {
      Tensor tensor(DType::f32, std::move(dims));
      fill(tensor, eighths, random);
      return tensor;
    };
    NamedTensors all{{"q", made({batch, heads * group, queries, depth})},
                     {"k", made({batch, heads, keys, depth})},
                     {"v", made({batch, heads, keys, depth})}};
    if (hides != Hides::Nothing) all.push_back({"m", made_mask(batch, random)});
    return all;
  }
};

ExportedAttention random_export(Random& random) {
  constexpr Hides all_hides[] = {Hides::Nothing, Hides::Sum, Hides::WhereTrue, Hides::WhereFalse};
  ExportedAttention made;
  made.heads = random.integer(1, 3);
  made.group = random.integer(1, 3);
  made.queries = random.integer(1, 40);
  made.keys = random.integer(1, 90);
  made.depth = random.integer(1, 70);
  made.hides = random.pick(all_hides);
  made.scales_factors = random.chance(0.5);
  made.turns_product = random.chance(0.5);
  made.guards = random.chance(0.5);
  return made;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("attention that exporters write in parts is one attention") {
    Random random("exported attention");
    for_each_isa(test_rounds(120, 8), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.threads = static_cast<int>(random.integer(1, 3));
      const ExportedAttention exported = random_export(random);
      const std::string text = exported.text();
      CAPTURE(text);
      graph::Module module = graph::parse(text);
      graph::find_attention(module);
      CHECK(std::ranges::none_of(module.nodes, [](const graph::Node& node) {
        return node.op->id == graph::OpId::Softmax || node.op->id == graph::OpId::IsNan;
      }));
      const NamedTensors inputs = exported.inputs(random);
      const Tensor found = Graph::from_text(text, options).run(inputs)["y"],
                   expected = Graph::from_text(text, on_reference(options)).run(inputs)["y"];
      const auto values = found.data<float>(), wanted = expected.data<float>();
      REQUIRE(values.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        REQUIRE(std::abs(double{values[i]} - double{wanted[i]}) <= 1e-4);
    });
  }
}

}  // namespace dyn::testing
