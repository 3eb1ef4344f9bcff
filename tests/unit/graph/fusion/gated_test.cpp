// Products of one left side that meet behind their sums.

#include <doctest/doctest.h>

#include <string>

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

const graph::FuseOptions gating{.gated_columns = 8};

/// Groups around several products.
int gated_groups(const Pipeline& pipeline) {
  int count = 0;
  for (const graph::Group& group : pipeline.fusion.groups) {
    int products = 0;
    for (const int node : group.nodes)
      products +=
          pipeline.module.nodes[static_cast<std::size_t>(node)].op->id == graph::OpId::Matmul;
    count += products > 1;
  }
  return count;
}

/// Experts that all read x, each gated.
std::string experts(int count) {
  std::string weights, body, results, values;
  for (int i = 0; i < count; ++i) {
    for (const char* side : {"v", "w"})
      weights +=
          fmt::format("weight {}{}: f32[6, 8] = random {}\n", side, i, 2 * i + (*side == 'w'));
    body += fmt::format("  y{0} = silu(matmul(x, v{0})) * matmul(x, w{0})\n", i);
    results += fmt::format("{}y{}: f32[A, 8]", i == 0 ? "" : ", ", i);
    values += fmt::format("{}y{}", i == 0 ? "" : ", ", i);
  }
  return fmt::format(
      "dyn 1\ndim A in 0..100\n{}graph g(x: f32[A, 6]) -> ({}) {{\n{}  return {}\n}}\n", weights,
      results, body, values);
}

/// Two products, the second behind so many operators.
std::string far_product(int operators) {
  std::string body = "  t0 = matmul(x, w)\n";
  for (int i = 0; i < operators; ++i) body += fmt::format("  t{} = relu(t{}) + q\n", i + 1, i);
  return fmt::format(
      "dyn 1\ndim A in 0..100\nweight v: f32[6, 8] = random 1\nweight w: f32[6, 8] = random 2\n"
      "graph g(x: f32[A, 6], q: f32[8]) -> (y: f32[A, 8]) {{\n{}  y = matmul(x, v) * t{}\n"
      "  return y\n}}\n",
      body, operators);
}

}  // namespace

TEST_CASE("gated products find each other among many readers of their left side") {
  constexpr int count = 50;
  const Pipeline pipeline = through_passes(experts(count), {}, gating);
  CHECK(defects(pipeline).empty());
  CHECK(gated_groups(pipeline) == count);
  std::mt19937_64 random(test_seed(7));
  CHECK(compare_with_reference(experts(3), {{"A", 5}}, random, {}, gating) == "");
}

TEST_CASE("products meet behind as many operators as a group holds, and no more") {
  CHECK(gated_groups(through_passes(far_product(1), {}, gating)) == 1);
  CHECK(gated_groups(through_passes(far_product(20), {}, gating)) == 1);
  const Pipeline apart = through_passes(far_product(100), {}, gating);
  CHECK(defects(apart).empty());
  CHECK(gated_groups(apart) == 0);
}

}  // namespace dyn::testing
