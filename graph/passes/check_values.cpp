#include "graph/passes/check_values.hpp"

#include <algorithm>
#include <string>

#include "graph/ir/op.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

bool may_divide_by_zero(const Module& module, const Node& node) {
  if (node.op->id != OpId::Div && node.op->id != OpId::Mod) return false;
  const Value& divisor = module.value(node.inputs[1]);
  return is_integer(divisor.type.dtype) &&
         (divisor.kind != ValueKind::Constant || divisor.integer == 0);
}

ValueId checked(Rewriter& rewriter, ValueId divisor) {
  const TensorType type = rewriter.type(divisor);
  const auto cast = [&](ValueId x, DType dtype) {
    return rewriter.emit("cast", {x}, {dtype, type.dims}, {{"dtype", std::string(name_of(dtype))}});
  };
  const ValueId is_zero = rewriter.emit("equal", {divisor, rewriter.integer(type.dtype, 0)},
                                        {DType::boolean, type.dims});
  const Dim one = rewriter.module().dims->constant(1);
  const ValueId zero = rewriter.emit("range", {}, {DType::i64, {one}}, {{"end", one}});
  const ValueId none =
      rewriter.emit("gather", {zero, cast(is_zero, DType::i64)}, {DType::i64, type.dims},
                    {{"axis", rewriter.module().dims->constant(0)}});
  return rewriter.emit("add", {divisor, cast(none, type.dtype)}, type);
}

}  // namespace

void check_values(Module& module) {
  const std::vector<Node> nodes = module.nodes;
  if (std::ranges::none_of(nodes,
                           [&](const Node& node) { return may_divide_by_zero(module, node); }))
    return;
  Rewriter rewriter(module);
  for (Node node : nodes) {
    rewriter.begin(node, "");
    if (may_divide_by_zero(module, node)) node.inputs[1] = checked(rewriter, node.inputs[1]);
    rewriter.keep(std::move(node));
  }
  rewriter.finish();
}

}  // namespace dyn::graph
