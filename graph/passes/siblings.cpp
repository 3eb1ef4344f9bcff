#include "graph/passes/siblings.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/fusion/grower.hpp"

namespace dyn::graph {
namespace {

/// A weight that is not joined from several yet.
bool is_whole_weight(const Value& value) {
  return value.kind == ValueKind::Weight && value.weight.parts.size() <= 1;
}

/// The weight behind a product's right side: a matrix, or, where that is a reshape of them, filters
/// of one tap.
ValueId weight_of(const Module& module, ValueId right) {
  const Value& value = module.value(right);
  if (value.producer < 0) return right;
  const Node& view = module.nodes[static_cast<std::size_t>(value.producer)];
  if (view.op->id != OpId::Reshape) return no_value;
  const std::vector<Dim>& dims = module.value(view.inputs[0]).type.dims;
  const bool is_matrix =
      dims.size() >= 2 && same_dims({dims.end() - 2, dims.end()}, value.type.dims);
  return is_matrix ? view.inputs[0] : no_value;
}

/// Collects the nodes behind a matmul.
class Followers {
 public:
  Followers(const FusionGraph& graph, Sibling& sibling) : graph_(graph), sibling_(sibling) {
    const ValueId product = graph.node(sibling.matmul).outputs[0];
    places_[product] = 0;
    values_ = {product};
  }

  /// False where not one value leaves.
  bool collect() {
    for (std::size_t next = 0; next < values_.size(); ++next) {
      for (const Edge& edge : graph_.readers(values_[next])) add(edge.node);
    }
    std::vector<ValueId> leaving;
    std::ranges::copy_if(values_, std::back_inserter(leaving),
                         [&](ValueId value) { return leaves(value); });
    if (leaving.size() != 1) return false;
    sibling_.result = leaving.front();
    sibling_.followers =
        fmt::format("{} -> {}", fmt::join(steps_, "; "), places_.at(sibling_.result));
    return true;
  }

 private:
  const Module& module() const { return graph_.module(); }

  void add(int id) {
    const Node& node = graph_.node(id);
    if (node.op->op_class != OpClass::Elementwise || !node.attrs.empty() ||
        places_.contains(node.outputs[0]) ||
        !same_dims(graph_.dims(node.outputs[0]), graph_.dims(values_.front())))
      return;
    std::vector<std::string> inputs;
    std::vector<ValueId> columns;
    for (const ValueId input : node.inputs) {
      const std::string text = text_of(input, columns);
      if (text.empty()) return;
      inputs.push_back(text);
    }
    // The order of these changes no bit.
    if (node.op->id == OpId::Add || node.op->id == OpId::Mul) std::ranges::sort(inputs);
    steps_.push_back(fmt::format("{} {}", node.op->name, fmt::join(inputs, ",")));
    sibling_.behind.push_back(id);
    sibling_.columns_of.insert(sibling_.columns_of.end(), columns.begin(), columns.end());
    places_[node.outputs[0]] = values_.size();
    values_.push_back(node.outputs[0]);
  }

  /// Empty: it is not for all siblings alike.
  std::string text_of(ValueId input, std::vector<ValueId>& columns) const {
    if (const auto place = places_.find(input); place != places_.end())
      return fmt::format("%{}", place->second);
    const Value& value = module().value(input);
    if (value.kind == ValueKind::Constant)
      return fmt::format("{} {:a} {}", name_of(value.type.dtype), value.constant, value.integer);
    if (!is_whole_weight(value) || value.type.rank() != 1 ||
        value.type.dims[0].constant() != sibling_.columns)
      return {};
    std::vector<ValueId> all = sibling_.columns_of;
    all.insert(all.end(), columns.begin(), columns.end());
    const auto place = std::ranges::find(all, input) - all.begin();
    if (static_cast<std::size_t>(place) == all.size()) columns.push_back(input);
    return fmt::format("columns {}", place);
  }

  bool leaves(ValueId value) const {
    return graph_.is_output(value) ||
           std::ranges::any_of(graph_.readers(value), [&](const Edge& edge) {
             return !places_.contains(graph_.node(edge.node).outputs[0]);
           });
  }

  const FusionGraph& graph_;
  Sibling& sibling_;
  std::vector<ValueId> values_;
  std::map<ValueId, std::size_t> places_;
  std::vector<std::string> steps_;
};

}  // namespace

std::optional<Sibling> find_sibling(const FusionGraph& graph, int id) {
  const Module& module = graph.module();
  const Node& node = graph.node(id);
  const bool is_own = node.origin.empty() || node.origin == "conv";
  if (node.op->id != OpId::Matmul || !node.attrs.empty() || !is_own ||
      graph.dims(node.inputs[0]).size() < 2)
    return std::nullopt;
  Sibling sibling;
  sibling.matmul = id;
  sibling.weight = weight_of(module, node.inputs[1]);
  if (sibling.weight == no_value || !is_whole_weight(module.value(sibling.weight)) ||
      graph.dims(node.inputs[1]).size() != 2)
    return std::nullopt;
  const std::vector<Dim>& dims = module.value(sibling.weight).type.dims;
  sibling.columns = dims.back().constant().value_or(0);
  if (sibling.columns <= 0 || !Followers(graph, sibling).collect()) return std::nullopt;
  sibling.followers = fmt::format("rank {}: {}", dims.size(), sibling.followers);
  const bool adds = sibling.behind.size() == 1 && sibling.columns_of.size() == 1 &&
                    graph.node(sibling.behind[0]).op->id == OpId::Add;
  sibling.is_plain = dims.size() == 2 && (sibling.behind.empty() || adds);
  return sibling;
}

}  // namespace dyn::graph
