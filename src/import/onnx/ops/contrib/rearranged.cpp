// Operators of com.microsoft on places and shapes that differ from the standard ones of their name,
// or have none.

#include <limits>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

void convert_expand_dims(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const std::int64_t axis = node.need_integer(1, "its axis");
  node.give(unsqueeze(x, node.axis(axis, x.rank() + 1)).id());
}

/// Elements in the order in which they first occur.
void convert_first_unique(NodeContext& node) {
  enum Found : std::size_t { Elements, FirstPlaces, Places, Counts };
  node.require_rank(0, 1);
  const ValueId x = node.value(0);
  const std::string name = node.node().output(0);
  const std::vector<ValueId> found = node.builder().add(
      "unique", {x},
      {node.dim("axis", 0), {"sorted", false}, {"count", node.defined_dim("distinct")}},
      {name, name, name, name});
  node.give(found[Elements]);
  node.give(found[Places], 1);
  node.give(found[Counts], 2);
}

/// Forbids each word that would end a sequence of `ngram_size` words, which is there already.
void convert_ngram_repeat_block(NodeContext& node) {
  node.require_rank(0, 2);
  node.require_rank(1, 2);
  const TensorExpr words = input_expr(node, 0), scores = input_expr(node, 1);
  const std::int64_t size = node.integer("ngram_size", 0);
  constexpr std::int64_t most = 64;
  if (size < 1 || size > most)
    node.fail(fmt::format("its ngram_size is {}; 1 to {} are supported", size, most));
  const Dim length = words.dims()[1], none = node.dims().constant(0),
            sequences = max(length - (size - 1), none);
  // What follows on the last words is compared with what follows on earlier ones.
  const auto column = [&](Dim from, Dim count) { return slice(words, 1, from, from + count); };
  const Dim one = node.dims().constant(1);
  const TensorExpr ends = column(min(node.dims().constant(size - 1), length), sequences);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  TensorExpr bound = expand(scores.scalar(-infinity), ends.dims());
  for (std::int64_t i = 0; i + 1 < size; ++i) {
    const Dim first = node.dims().constant(i);
    const TensorExpr last = column(max(length - (size - 1) + i, none), min(one, sequences)),
                     earlier = column(min(first, length), sequences);
    bound = where(equal(earlier, last), bound, infinity);
  }
  node.give(apply("scatter_elements", {scores, ends, bound},
                  {node.dim("axis", 1), {"reduction", std::string("min")}})
                .id());
}

}  // namespace

Family rearranged_operators() {
  return {{"ExpandDims", convert_expand_dims},
          {"Unique", convert_first_unique},
          {"NGramRepeatBlock", convert_ngram_repeat_block}};
}

}  // namespace dyn::onnx
