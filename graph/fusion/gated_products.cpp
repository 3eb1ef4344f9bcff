#include "graph/fusion/gated_products.hpp"

#include <algorithm>
#include <set>

#include "graph/fusion/grower.hpp"

namespace dyn::graph {
namespace {

/// Operators between products are looked through up to so many: a group holds no more.
constexpr std::size_t most_nodes_between = 128;

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

/// Element-wise work of the dims of a product's result: behind it, and what leads there.
class WorkBehind {
 public:
  WorkBehind(const FusionGraph& graph, int product)
      : graph_(graph), dims_(graph.dims(graph.node(product).outputs[0])), nodes_{product} {
    seen_.insert(product);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const Edge& edge : graph_.readers(graph_.node(nodes_[i]).outputs[0])) add(edge.node);
    }
  }

  /// Matmuls whose results the work takes, directly or behind more of such work.
  std::set<int> products() {
    std::set<int> found;
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      for (const ValueId input : graph_.node(nodes_[i]).inputs) {
        const int producer = graph_.root_producer(input);
        if (producer < 0) continue;
        if (graph_.node(producer).op->id == OpId::Matmul) found.insert(producer);
        add(producer);
      }
    }
    return found;
  }

 private:
  void add(int id) {
    if (nodes_.size() <= most_nodes_between &&
        graph_.node(id).op->op_class == OpClass::Elementwise && graph_.group_of(id) == no_group &&
        same_dims(graph_.dims(graph_.node(id).outputs[0]), dims_) && seen_.insert(id).second)
      nodes_.push_back(id);
  }

  const FusionGraph& graph_;
  const std::vector<Dim>& dims_;
  std::vector<int> nodes_;  ///< the product first, then the nearest work
  std::set<int> seen_;
};

}  // namespace

std::vector<int> gated_products(const FusionGraph& graph, int product, const FuseOptions& options) {
  if (options.gated_columns == 0 || !is_gate_product(graph, product, options.gated_columns))
    return {};
  std::vector<int> products;
  for (const int other : WorkBehind(graph, product).products()) {
    if (other != product && products.size() + 1 < options.most_gated_products &&
        graph.group_of(other) == no_group && is_gate_product(graph, other, options.gated_columns) &&
        multiplies_alike(graph, product, other))
      products.push_back(other);
  }
  return products;
}

}  // namespace dyn::graph
