#include "graph/passes/widen_halves.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/passes/products/constant_products.hpp"
#include "graph/passes/products/fill_groups.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

class Widener {
 public:
  Widener(Module& module, bool multiplies_bfloats)
      : module_(module),
        rewriter_(module),
        products_(module, product_group_of(DType::bf16)),
        multiplies_bfloats_(multiplies_bfloats) {}

  void run() {
    const std::vector<Node> nodes = module_.nodes;
    for (const Node& node : nodes) {
      if (!reads_matrices(node) || !is_widened(node)) continue;
      for (const ValueId input : node.inputs) widen_weight(weight_of(nodes, input));
    }
    for (Node node : nodes) {
      rewriter_.begin(node, "");
      // The cast itself stays, read by nobody, for `simplify` to remove.
      if (casts_.contains(node.outputs[0])) widen_weight(node.inputs[0]);
      for (ValueId& input : node.inputs) {
        if (const auto cast = casts_.find(input); cast != casts_.end())
          input = wide_.at(cast->second);
      }
      if (is_widened(node))
        widen(nodes, node);
      else if (node.op->id == OpId::Gather && wide_.contains(node.inputs[0]))
        gather(node);
      else
        rewriter_.keep(node);
    }
    rewriter_.finish();
  }

  /// A cast of a weight of 16 bits to f32 that nothing but contractions read is an f32 weight of
  /// one part, which stays as narrow as it is where the CPU widens it on its way.
  void find_casts_of_weights() {
    for (const Node& node : module_.nodes) {
      if (node.op->id != OpId::Cast) continue;
      const Value& from = module_.value(node.inputs[0]);
      if (from.kind == ValueKind::Weight && is_half(from.type.dtype) &&
          module_.value(node.outputs[0]).type.dtype == DType::f32)
        casts_.emplace(node.outputs[0], node.inputs[0]);
    }
    for (const Node& node : module_.nodes) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!reads_matrices(node) || i != 1) casts_.erase(node.inputs[i]);
      }
    }
    for (const ValueId output : module_.outputs) casts_.erase(output);
  }

  bool has_casts_of_weights() const { return !casts_.empty(); }

  bool is_widened(const Node& node) const {
    const bool steps = contracts(node.op->op_class) ||
                       (node.op->op_class == OpClass::Compound && node.op->id != OpId::Split);
    return steps && is_half(module_.value(node.outputs[0]).type.dtype);
  }

 private:
  static bool reads_matrices(const Node& node) {
    return contracts(node.op->op_class) || node.op->id == OpId::Conv;
  }

  static bool is_view(const Node& node) {
    return node.op->op_class == OpClass::View && node.op->id != OpId::Append;
  }

  /// Finds the weight behind views; no_value: there is none.
  ValueId weight_of(const std::vector<Node>& nodes, ValueId id) const {
    while (true) {
      const Value& value = module_.value(id);
      if (value.kind == ValueKind::Weight) return id;
      if (value.producer < 0 || !is_view(nodes[static_cast<std::size_t>(value.producer)]))
        return no_value;
      id = nodes[static_cast<std::size_t>(value.producer)].inputs[0];
    }
  }

  void widen_weight(ValueId id) {
    if (id == no_value || wide_.contains(id)) return;
    const Value& value = module_.value(id);
    TensorType type{DType::f32, value.type.dims};
    const std::string name = value.name + ".wide";
    wide_[id] = rewriter_.joined_weight(name, std::move(type), {id});
  }

  /// Makes a wide weight, seen through the same views.
  ValueId wide_view(const std::vector<Node>& nodes, ValueId id) {
    if (const auto known = wide_.find(id); known != wide_.end()) return known->second;
    const Node& view = nodes[static_cast<std::size_t>(module_.value(id).producer)];
    const ValueId inner = wide_view(nodes, view.inputs[0]);
    return wide_[id] = rewriter_.emit(view.op->name, {inner}, {DType::f32, rewriter_.type(id).dims},
                                      view.attrs);
  }

  ValueId cast(ValueId x, DType dtype, ValueId to = no_value) {
    return rewriter_.emit("cast", {x}, {dtype, rewriter_.type(x).dims},
                          {{"dtype", std::string(name_of(dtype))}}, to);
  }

  /// Neither a weight nor a scalar, nor a view of one.
  bool is_fresh(ValueId id) const {
    while (true) {
      const Value& value = module_.value(id);
      if (value.producer < 0)
        return value.kind == ValueKind::Input || value.kind == ValueKind::State;
      const Node& node = module_.nodes[static_cast<std::size_t>(value.producer)];
      if (!is_view(node)) return true;
      id = node.inputs[0];
    }
  }

  /// A product of bf16 whose left side is multiplied as it is.
  bool keeps_bfloats(const Node& node) const {
    if (!multiplies_bfloats_ || !reads_matrices(node) ||
        !may_have_groups(module_, node, product_group_of(DType::bf16)))
      return false;
    const Value &x = module_.value(node.inputs[0]), &w = module_.value(node.inputs[1]);
    if (x.type.dtype != DType::bf16 || w.type.dtype != DType::bf16) return false;
    const bool is_matmul = node.op->id == OpId::Matmul;
    if (is_matmul && is_fresh(node.inputs[1])) return true;
    const bool is_one =
        node.op->id == OpId::Conv ? attr_integer(node, "groups") == 1 : w.type.rank() == 2;
    return w.kind == ValueKind::Weight && products_.weight_of(node.inputs[1]) != no_value &&
           is_one && !(is_matmul && attr_boolean(node, "transpose_a"));
  }

  void widen(const std::vector<Node>& nodes, Node node) {
    if (keeps_bfloats(node)) {
      if (is_fresh(node.inputs[1])) return rewriter_.keep(std::move(node));
      node.inputs[1] = wide_.at(node.inputs[1]);
      return round_results(std::move(node));
    }
    for (ValueId& input : node.inputs) {
      if (!is_half(rewriter_.type(input).dtype)) continue;
      const bool is_constant = reads_matrices(node) && weight_of(nodes, input) != no_value;
      input = is_constant ? wide_view(nodes, input) : cast(input, DType::f32);
    }
    round_results(std::move(node));
  }

  /// Reads the weight that contractions read too, so that it is in memory once.
  void gather(Node node) {
    node.inputs[0] = wide_.at(node.inputs[0]);
    round_results(std::move(node));
  }

  void round_results(Node node) {
    const std::vector<ValueId> outputs = node.outputs;
    for (ValueId& output : node.outputs)
      output = rewriter_.result(module_.value(output).name + ".wide",
                                {DType::f32, rewriter_.type(output).dims});
    const std::vector<ValueId> wide = node.outputs;
    rewriter_.keep(std::move(node));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      cast(wide[i], rewriter_.type(outputs[i]).dtype, outputs[i]);
  }

  Module& module_;
  Rewriter rewriter_;
  const ConstantProducts products_;
  const bool multiplies_bfloats_;
  std::map<ValueId, ValueId> casts_;  ///< of weights that become wide ones, by their results
  std::map<ValueId, ValueId> wide_;   ///< by weights of 16 bits, and views of them
};

}  // namespace

void widen_halves(Module& module, bool multiplies_bfloats) {
  Widener widener(module, multiplies_bfloats);
  widener.find_casts_of_weights();
  if (widener.has_casts_of_weights() ||
      std::ranges::any_of(module.nodes, [&](const Node& node) { return widener.is_widened(node); }))
    widener.run();
}

}  // namespace dyn::graph
