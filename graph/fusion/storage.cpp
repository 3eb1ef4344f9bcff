// The order of a computed tensor's axes in memory.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/fusion/layout.hpp"

namespace dyn::graph {
namespace {

using Order = std::vector<int>;

class StorageChoice {
 public:
  StorageChoice(const FusionGraph& graph, ValueId root, std::span<const int> views)
      : graph_(graph), root_(root), views_(views), natural_(graph.dims(root).size()) {
    std::iota(natural_.begin(), natural_.end(), 0);
    const auto& outputs = graph.module().outputs;
    output_.insert(outputs.begin(), outputs.end());
  }

  Order best() {
    if (natural_.empty() || output_.contains(root_)) return natural_;
    std::vector<Order> wanted;
    int fewest = copies(natural_, &wanted);
    Order best = natural_;
    for (const Order& order : wanted) {
      if (order.back() != natural_.back()) continue;
      const int count = copies(order, nullptr);
      if (count < fewest) fewest = count, best = order;
    }
    return best;
  }

 private:
  /// How many copies this order costs; `wanted` receives the orders that would each save one.
  int copies(const Order& order, std::vector<Order>* wanted) {
    const Module& module = graph_.module();
    int count = 0;
    std::map<ValueId, std::optional<View>> view_of{{root_, stored_view(module, root_, order)}};
    std::map<ValueId, Order> axes_of{{root_, natural_}};  // through transposes alone
    const auto miss = [&](ValueId from) {
      ++count;
      const auto axes = axes_of.find(from);
      if (wanted && axes != axes_of.end()) wanted->push_back(axes->second);
    };
    for (const int id : views_) {
      const Node& node = graph_.node(id);
      const ValueId input = node.inputs[0], result = node.outputs[0];
      const auto& from = view_of.at(input);
      view_of[result] = from ? view_through(module, node, *from) : std::nullopt;
      if (const auto axes = axes_of.find(input);
          node.op->id == OpId::Transpose && axes != axes_of.end()) {
        axes_of[result] = permuted(node, axes->second);
      }
      const auto& view = view_of[result];
      if (from && !view) miss(input);
      if (view && output_.contains(result) && !is_dense(*view, graph_.dims(result))) miss(result);
    }
    return count;
  }

  static Order permuted(const Node& transpose, const Order& axes) {
    Order result;
    for (const std::int64_t axis : attr_integers(transpose, "perm")) {
      result.push_back(
          axes[static_cast<std::size_t>(*normalize_axis(axis, static_cast<int>(axes.size())))]);
    }
    return result;
  }

  const FusionGraph& graph_;
  const ValueId root_;
  std::span<const int> views_;
  Order natural_;
  std::set<ValueId> output_;
};

}  // namespace

std::vector<int> choose_storage(const FusionGraph& graph, ValueId root,
                                std::span<const int> views) {
  return StorageChoice(graph, root, views).best();
}

}  // namespace dyn::graph
