#include "graph/passes/products/constant_products.hpp"

#include <algorithm>

#include "graph/ir/op.hpp"
#include "graph/passes/products/fill_groups.hpp"

namespace dyn::graph {

bool multiplies_codes(const Module& module, const Node& node, const DecomposeOptions& target) {
  if (target.codes_weights) return node.op->id != OpId::Conv;
  const WeightSource& source = module.value(node.inputs[1]).weight;
  // A byte less a zero point is no byte.
  if (target.integer_factor == DType::u8 && source.bits == 8 && source.parts.size() > 2)
    return false;
  return source.kind == WeightSource::Kind::Blocks && node.op->id == OpId::Matmul &&
         attr_boolean(node, "transpose_b") &&
         std::ranges::find(target.code_blocks, source.block) != target.code_blocks.end();
}

ConstantProducts::ConstantProducts(const Module& module, std::int64_t group)
    : module_(module), group_(group) {
  for (const Node& node : module_.nodes) {
    if (contracts(node.op->op_class) || node.op->op_class == OpClass::View ||
        node.op->id == OpId::Conv)
      continue;
    moved_.insert(node.inputs.begin(), node.inputs.end());
  }
}

ValueId ConstantProducts::weight_of(ValueId id) const {
  while (module_.value(id).producer >= 0) {
    const Node& view = module_.nodes[static_cast<std::size_t>(module_.value(id).producer)];
    if (view.op->op_class != OpClass::View || view.op->id == OpId::Append) return no_value;
    id = view.inputs[0];
  }
  return module_.value(id).kind == ValueKind::Weight && !moved_.contains(id) ? id : no_value;
}

bool ConstantProducts::contains(const Node& node) const {
  if (!has(node)) return false;
  const Dim depth = module_.value(node.inputs[0]).type.dims.back();
  return depth.constant() && has_groups(node, depth, group_);
}

bool ConstantProducts::has(const Node& node) const {
  const OpId op = node.op->id;
  if (op != OpId::Matmul && op != OpId::WindowMatmul && op != OpId::Conv) return false;
  const TensorType &a = module_.value(node.inputs[0]).type, &b = module_.value(node.inputs[1]).type;
  const bool is_one = op == OpId::Conv ? attr_integer(node, "groups") == 1 : b.rank() == 2;
  if (a.dtype != DType::f32 || b.dtype != DType::f32 || !is_one ||
      weight_of(node.inputs[1]) == no_value)
    return false;
  return op != OpId::Matmul || !attr_boolean(node, "transpose_a");
}

}  // namespace dyn::graph
