// Ensembles of decision trees.

#include <algorithm>
#include <bit>
#include <string>

#include "targets/host/call.hpp"
#include "targets/host/forest.hpp"

namespace dyn::host {
namespace {

Aggregate aggregate_of(const Call& call) {
  const std::string word = graph::attr_word(call.node, "aggregate");
  return word == "min" ? Aggregate::Min : word == "max" ? Aggregate::Max : Aggregate::Sum;
}

template <class T>
std::shared_ptr<const void> prepare_forest(const Call& call) {
  const auto integers = [&](std::size_t input) {
    return call.inputs[input].elements<const std::int32_t>();
  };
  const Trees<T> trees{integers(1),
                       integers(2),
                       call.inputs[3].elements<const T>(),
                       integers(4),
                       integers(5),
                       call.inputs[6].elements<const T>(),
                       graph::attr_integer(call.node, "results")};
  return make_forest(trees, aggregate_of(call));
}

std::shared_ptr<const void> prepare(const Call& call) {
  return call.inputs[0].dtype == DType::f64 ? prepare_forest<double>(call)
                                            : prepare_forest<float>(call);
}

template <class T>
Outcome walk(const Call& call) {
  const auto& forest = *static_cast<const Forest<T>*>(call.kept.get());
  const Shape& dims = call.inputs[0].dims;
  if (dims[1] < forest.least_columns()) return Outcome::IndexOutOfRange;
  forest.run(static_cast<const T*>(call.inputs[0].data), dims[0], dims[1],
             static_cast<T*>(call.outputs[0].data));
  return Outcome::Ok;
}

Outcome run_trees(const Call& call) {
  return call.inputs[0].dtype == DType::f64 ? walk<double>(call) : walk<float>(call);
}

/// As if all trees were balanced.
double row_seconds(const Call& call) {
  constexpr double step_seconds = 0.8e-9;
  const auto rows = static_cast<double>(call.inputs[0].dims[0]);
  const std::int64_t trees = std::max<std::int64_t>(call.inputs[1].dims[0], 1),
                     nodes = call.inputs[2].dims[0];
  const int depth = std::bit_width(static_cast<std::uint64_t>(nodes / trees));
  return rows * static_cast<double>(trees) * depth * step_seconds;
}

constexpr Operator tree_family[] = {
    {graph::OpId::TreeEnsemble, run_trees, nullptr, prepare, row_seconds}};

}  // namespace

std::span<const Operator> tree_operators() { return tree_family; }

}  // namespace dyn::host
