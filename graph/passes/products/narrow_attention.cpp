#include "graph/passes/products/narrow_attention.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/passes/remove_dead.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// Rows as they lie, and the scale of each; no_value: they have none.
struct NarrowRows {
  ValueId rows, scales = no_value;
};

class KeyNarrower {
 public:
  KeyNarrower(Module& module, const std::vector<DType>& dtypes)
      : module_(module), dtypes_(dtypes), rewriter_(module) {}

  void run() {
    for (const Node& node : module_.nodes) {
      Node kept = node;
      if (node.op->op_class == OpClass::Attention && !attr_boolean(node, "scales") &&
          type(node.inputs[0]).dtype == DType::f32)
        narrow(kept);
      rewriter_.keep(std::move(kept));
    }
    rewriter_.finish();
  }

 private:
  bool is_read(DType dtype) const { return std::ranges::find(dtypes_, dtype) != dtypes_.end(); }
  const TensorType& type(ValueId id) const { return module_.value(id).type; }
  Dim one() { return module_.dims->constant(1); }

  void narrow(Node& node) {
    rewriter_.begin(node, "");
    const auto keys = rows_behind(node.inputs[1]), values = rows_behind(node.inputs[2]);
    const auto is_scaled = [](const auto& rows) { return rows && rows->scales != no_value; };
    if (is_scaled(keys) && is_scaled(values)) {
      node.inputs[1] = keys->rows;
      node.inputs[2] = values->rows;
      node.inputs.insert(node.inputs.begin() + 3, {keys->scales, values->scales});
      node.attrs.push_back({"scales", true});
      return;
    }
    if (keys && !is_scaled(keys)) node.inputs[1] = keys->rows;
    if (values && !is_scaled(values)) node.inputs[2] = values->rows;
  }

  /// The rows that become f32 behind views that leave the last axis as it is; nothing: no such.
  /// Rows of one element are no runs: an axis of one has no distance.
  std::optional<NarrowRows> rows_behind(ValueId id) {
    if (type(id).dims.back().constant() == 1) return std::nullopt;
    std::vector<const Node*> views;
    const Node* node = producer_of(module_, id);
    for (; node != nullptr && leaves_rows(*node); node = producer_of(module_, node->inputs[0]))
      views.push_back(node);
    if (node == nullptr) return std::nullopt;
    std::optional<NarrowRows> found = widened(*node);
    if (!found) return std::nullopt;
    for (auto view = views.rbegin(); view != views.rend(); ++view) {
      found->rows = viewed(**view, found->rows, type((*view)->outputs[0]).dims.back());
      if (found->scales != no_value) found->scales = viewed(**view, found->scales, one());
    }
    return found;
  }

  bool leaves_rows(const Node& node) const {
    const TensorType &from = type(node.inputs[0]), &to = type(node.outputs[0]);
    if (from.rank() == 0 || to.rank() == 0 || from.dims.back() != to.dims.back()) return false;
    switch (node.op->id) {
      case OpId::Reshape:
      case OpId::Expand: return true;
      case OpId::Transpose: return attr_integers(node, "perm").back() == from.rank() - 1;
      case OpId::Slice: {
        const std::vector<std::int64_t> axes = attr_integers(node, "axes");
        return std::ranges::none_of(axes, [&](std::int64_t axis) {
          return normalize_axis(axis, from.rank()) == from.rank() - 1;
        });
      }
      default: return false;
    }
  }

  std::optional<NarrowRows> widened(const Node& node) const {
    if (node.op->id == OpId::Cast && is_half(type(node.inputs[0]).dtype) &&
        is_read(type(node.inputs[0]).dtype) && lies_in_rows(node.inputs[0]))
      return NarrowRows{node.inputs[0]};
    if (node.op->id != OpId::Mul || !is_read(DType::i8)) return std::nullopt;
    for (const auto& [number, scales] : {std::pair(0, 1), std::pair(1, 0)}) {
      const Node* const cast = producer_of(module_, node.inputs[static_cast<std::size_t>(number)]);
      const ValueId factors = node.inputs[static_cast<std::size_t>(scales)];
      if (cast != nullptr && cast->op->id == OpId::Cast &&
          type(cast->inputs[0]).dtype == DType::i8 && lies_in_rows(cast->inputs[0]) &&
          are_of_rows(factors, cast->inputs[0]))
        return NarrowRows{cast->inputs[0], factors};
    }
    return std::nullopt;
  }

  /// Behind views of the same kind lies a state or an input, which are dense.
  bool lies_in_rows(ValueId id) const {
    if (type(id).dims.empty()) return false;
    for (const Node* node = producer_of(module_, id); node != nullptr;
         node = producer_of(module_, id)) {
      if (node->op->id == OpId::Append) return true;
      if (!leaves_rows(*node)) return false;
      id = node->inputs[0];
    }
    return module_.value(id).kind == ValueKind::Input;
  }

  bool are_of_rows(ValueId factors, ValueId rows) const {
    std::vector<Dim> dims = type(rows).dims;
    if (dims.empty()) return false;
    dims.back() = module_.dims->constant(1);
    return type(factors).dtype == DType::f32 && type(factors).dims == dims && lies_in_rows(factors);
  }

  /// The same view of another value, whose last axis has another size.
  ValueId viewed(const Node& view, ValueId id, Dim last) {
    TensorType seen = type(view.outputs[0]);
    seen.dtype = type(id).dtype;
    seen.dims.back() = last;
    std::vector<Attr> attrs = view.attrs;
    for (Attr& attr : attrs) {
      if (attr.name == "shape") std::get<std::vector<Dim>>(attr.value).back() = last;
    }
    return rewriter_.emit(view.op->name, {id}, std::move(seen), std::move(attrs));
  }

  Module& module_;
  const std::vector<DType>& dtypes_;
  Rewriter rewriter_;
};

}  // namespace

void narrow_attention(Module& module, const std::vector<DType>& dtypes) {
  const auto is_one = [](const Node& node) { return node.op->op_class == OpClass::Attention; };
  if (dtypes.empty() || std::ranges::none_of(module.nodes, is_one)) return;
  KeyNarrower(module, dtypes).run();
  remove_dead(module);
}

}  // namespace dyn::graph
