// Ensembles of decision trees.

#include <algorithm>

#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

constexpr std::size_t x_input = 0, roots_input = 1, features_input = 2, thresholds_input = 3,
                      children_input = 4, targets_input = 5, weights_input = 6;

/// The element, which the trees of a sound model have.
template <class T>
const T& element(const OpCall& call, const std::vector<T>& list, std::int64_t place) {
  if (place < 0 || place >= static_cast<std::int64_t>(list.size()))
    call.fail("an index is out of range");
  return list[static_cast<std::size_t>(place)];
}

std::int64_t integer_at(const OpCall& call, std::size_t input, std::int64_t place) {
  return element(call, call.input(input).integers, place);
}

/// From a node to the child that the row goes to; the node itself where it is a leaf.
std::int64_t next_node(const OpCall& call, std::int64_t node, std::int64_t row) {
  const std::int64_t feature = integer_at(call, features_input, node);
  if (feature == -1) return node;
  const std::int64_t columns = call.input(x_input).dims[1],
                     column = feature < 0 ? -2 - feature : feature;
  if (column >= columns) call.fail("an index is out of range");
  const double x = element(call, call.input(x_input).floats, row * columns + column);
  const bool yes =
      (feature < 0 ? -x : x) <= element(call, call.input(thresholds_input).floats, node);
  const std::int64_t child = integer_at(call, children_input, 2 * node + (yes ? 1 : 0));
  if (child <= node) call.fail("an index is out of range");
  return child;
}

double joined(const std::string& aggregate, double result, double weight, bool is_first) {
  if (aggregate == "sum") return result + weight;
  if (is_first) return weight;
  return aggregate == "min" ? std::min(result, weight) : std::max(result, weight);
}

std::vector<Array> tree_ensemble(const OpCall& call) {
  const std::int64_t rows = call.input(x_input).dims[0], results = call.integer("results");
  const std::string aggregate = call.word("aggregate");
  Array out = make_array(call.output_dtype(), {rows, results});
  std::vector<bool> is_given(out.floats.size(), false);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t root : call.input(roots_input).integers) {
      std::int64_t node = root;
      for (std::int64_t next = next_node(call, node, row); next != node;
           next = next_node(call, node, row))
        node = next;
      for (std::int64_t e = integer_at(call, children_input, 2 * node);
           e < integer_at(call, children_input, 2 * node + 1); ++e) {
        const std::int64_t target = integer_at(call, targets_input, e);
        if (target < 0 || target >= results) call.fail("an index is out of range");
        const auto place = static_cast<std::size_t>(row * results + target);
        out.floats[place] =
            joined(aggregate, out.floats[place], element(call, call.input(weights_input).floats, e),
                   !is_given[place]);
        is_given[place] = true;
      }
    }
  }
  return {std::move(out)};
}

constexpr OpEntry tree_entries[] = {{graph::OpId::TreeEnsemble, tree_ensemble}};

}  // namespace

std::span<const OpEntry> tree_ops() { return tree_entries; }

}  // namespace dyn::reference
