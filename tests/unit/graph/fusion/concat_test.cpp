// Parts of a concatenation: computed in their places where all of them can be, else copied.

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/op.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

std::string joining(const std::string& lines, const std::string& output_dims = "[N, L, _]") {
  return R"(dyn 1
dim N in 0..9
dim L in 1..40
weight a: f32[8, 5] = random 1
weight b: f32[8, 12] = random 2
graph g(x: f32[N, L, 8], y: f32[N, L, 8]) -> (r: f32)" +
         output_dims + ") {\n" + lines + "\n}\n";
}

/// True where a group puts parts side by side.
bool joins(const Pipeline& pipeline) {
  return std::ranges::any_of(pipeline.fusion.groups, [&](const graph::Group& group) {
    return std::ranges::any_of(group.nodes, [&](int id) {
      return pipeline.module.nodes[static_cast<std::size_t>(id)].op->id == graph::OpId::Concat;
    });
  });
}

void check(const std::string& lines, bool placed, const std::string& output_dims = "[N, L, _]") {
  const std::string text = joining(lines, output_dims);
  CAPTURE(lines);
  const Pipeline model = through_passes(text, {}, {.place_parts = true});
  CHECK(defects(model).empty());
  CHECK(joins(model) == !placed);
  CHECK(joins(through_passes(text)));
  std::mt19937_64 random(7);
  for (const auto& [n, l] : {std::pair<std::int64_t, std::int64_t>{2, 3}, {1, 17}, {0, 4}, {3, 1}})
    CHECK(compare_with_reference(text, {{"N", n}, {"L", l}}, random, {}, {.place_parts = true}) ==
          "");
}

TEST_CASE("results are computed in their places") {
  check("return concat(matmul(x, a), matmul(y, b)) axis=2", true);
  check("return concat(matmul(x, a), matmul(y, a)) axis=1", true, "[N, _, 5]");
  check("return concat(matmul(x, a), matmul(y, a)) axis=0", true, "[_, L, 5]");
  check("return concat(matmul(x, b), reduce_max(y) axes=[2]) axis=2", true);
  // Parts that are read through views, and by more than one reader.
  check(
      "return concat(reshape(matmul(x, a)) shape=[N * L, 5], reshape(matmul(y, b)) shape=[N * L, "
      "12]) axis=1",
      true, "[_, 17]");
  check(
      "j = concat(matmul(x, a), matmul(y, b)) axis=2\n  return matmul(j, transpose(j) perm=[0, 2, "
      "1])",
      true);
}

TEST_CASE("many parts that are computed elsewhere are not read one by one") {
  check(
      "j = concat(matmul(x, a), matmul(y, b), matmul(x, b), matmul(y, a)) axis=2\n  return tanh(j) "
      "+ reduce_max(j) axes=[2] keepdims=true",
      true);
  // Some cannot lie side by side, and three are few.
  check("j = concat(matmul(x, a), matmul(y, b), y, matmul(y, a)) axis=2\n  return tanh(j)", false);
  check("j = concat(matmul(x, a), matmul(y, b), matmul(y, a)) axis=2\n  return tanh(j)", false);
}

TEST_CASE("a part that cannot be computed in its place keeps the copy of all") {
  check("return concat(matmul(x, a), y) axis=2", false);
  check("m = matmul(x, a)\n  return concat(m, m) axis=2", false);
  check(
      "m = matmul(x, a)\n  c = concat(m, matmul(y, b)) axis=2\n  return matmul(c, transpose(c) "
      "perm=[0, 2, 1]) + reduce_max(m) axes=[2]",
      false);
  check("return concat(slice(matmul(x, b)) axes=[2] starts=[1] ends=[7], matmul(y, a)) axis=2",
        false);
  // Elements of one row would lie apart.
  check(
      "return concat(reshape(matmul(x, a)) shape=[N, L, 5, 1], reshape(matmul(y, a)) shape=[N, L, "
      "5, 1]) axis=3",
      false, "[N, L, 5, 2]");
  check(
      "return concat(reshape(matmul(x, b)) shape=[N, L * 2, 6], reshape(matmul(y, b)) shape=[N, L "
      "* 2, 6]) axis=2",
      false, "[N, _, 12]");
}

}  // namespace
}  // namespace dyn::testing
