#include "graph/fusion/gated_products.hpp"

#include <algorithm>
#include <set>

#include "graph/fusion/grower.hpp"

namespace dyn::graph {
namespace {

/// Weights are packed alike where their elements are kept alike.
bool are_kept_alike(const Module& module, const Value& a, const Value& b) {
  using Kind = WeightSource::Kind;
  const auto is_simple = [](const Value& value) {
    return value.weight.kind != Kind::Blocks && value.weight.kind != Kind::Codes &&
           value.weight.parts.size() <= 1;
  };
  if (!is_simple(a) || !is_simple(b) || a.weight.kind != b.weight.kind) return false;
  return a.weight.parts.empty() ||
         module.value(a.weight.parts[0]).type.dtype == module.value(b.weight.parts[0]).type.dtype;
}

bool is_gate_product(const FusionGraph& graph, int id, std::int64_t columns) {
  const Module& module = graph.module();
  const Node& node = graph.node(id);
  if (node.op->id != OpId::Matmul) return false;
  const auto is_f32 = [&](ValueId value) { return module.value(value).type.dtype == DType::f32; };
  if (!is_f32(node.inputs[0]) || !is_f32(node.inputs[1]) || !is_f32(node.outputs[0])) return false;
  const Value& weight = module.value(graph.root(node.inputs[1]));
  const auto last = graph.dims(node.outputs[0]).back().constant();
  return weight.kind == ValueKind::Weight && graph.dims(node.inputs[1]).size() == 2 && last &&
         *last > 0 && *last % columns == 0;
}

bool multiplies_alike(const FusionGraph& graph, int a, int b) {
  const Module& module = graph.module();
  const Node &first = graph.node(a), &second = graph.node(b);
  const auto have_same = [&](const char* name) {
    return attr_boolean(first, name) == attr_boolean(second, name);
  };
  return first.inputs[0] == second.inputs[0] && have_same("transpose_a") &&
         have_same("transpose_b") &&
         same_dims(graph.dims(first.inputs[1]), graph.dims(second.inputs[1])) &&
         are_kept_alike(module, module.value(graph.root(first.inputs[1])),
                        module.value(graph.root(second.inputs[1])));
}

/// Element-wise nodes that take the result of `product`, directly or behind others, and have its
/// dims.
std::set<int> element_wise_behind(const FusionGraph& graph, int product) {
  const std::vector<Dim>& dims = graph.dims(graph.node(product).outputs[0]);
  std::set<int> found;
  std::vector<int> unvisited{product};
  while (!unvisited.empty()) {
    const ValueId result = graph.node(unvisited.back()).outputs[0];
    unvisited.pop_back();
    for (const Edge& edge : graph.readers(result)) {
      if (graph.node(edge.node).op->op_class == OpClass::Elementwise &&
          graph.group_of(edge.node) == no_group &&
          same_dims(graph.dims(graph.node(edge.node).outputs[0]), dims) &&
          found.insert(edge.node).second)
        unvisited.push_back(edge.node);
    }
  }
  return found;
}

}  // namespace

std::vector<int> gated_products(const FusionGraph& graph, int product, const FuseOptions& options) {
  if (options.gated_columns == 0 || !is_gate_product(graph, product, options.gated_columns))
    return {};
  std::vector<int> products;
  std::set<int> behind;
  for (const Edge& edge : graph.readers(graph.root(graph.node(product).inputs[0]))) {
    const int other = edge.node;
    if (other == product || edge.input != 0 || products.size() + 1 == options.most_gated_products ||
        graph.group_of(other) != no_group ||
        !is_gate_product(graph, other, options.gated_columns) ||
        !multiplies_alike(graph, product, other))
      continue;
    if (behind.empty()) behind = element_wise_behind(graph, product);
    const std::set<int> of_other = element_wise_behind(graph, other);
    if (std::ranges::any_of(of_other, [&](int id) { return behind.contains(id); }))
      products.push_back(other);
  }
  std::ranges::sort(products);
  return products;
}

}  // namespace dyn::graph
