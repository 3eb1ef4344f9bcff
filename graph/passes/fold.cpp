// Scalars that a module computes from literals alone.

#include <optional>

#include "graph/ir/scalars.hpp"
#include "graph/ops/scalar_ops.hpp"
#include "graph/passes/identities.hpp"

namespace dyn::graph {
namespace {

ValueId fold_cast(Rewriter& rewriter, const Value& from, DType to) {
  if (is_code(from.type.dtype) || is_code(to)) return no_value;
  // Rounds to f32 and then to 16 bits, as kernels do.
  const auto in_dtype = [to](double number) {
    return rounded(to, is_half(to) ? rounded(DType::f32, number) : number);
  };
  constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;
  if (is_float(from.type.dtype))
    return is_float(to) ? rewriter.number(to, in_dtype(rounded(from.type.dtype, from.constant)))
                        : no_value;
  if (!is_float(to))
    return rewriter.integer(to, wrapped(to, static_cast<std::uint64_t>(from.integer)));
  const bool is_exact = from.integer <= exact_in_double &&
                        from.integer >= (from.type.dtype == DType::u64 ? 0 : -exact_in_double);
  return is_exact ? rewriter.number(to, in_dtype(static_cast<double>(from.integer))) : no_value;
}

}  // namespace

ValueId fold_constants(Rewriter& rewriter, const Node& node) {
  if (node.op->op_class != OpClass::Elementwise || node.inputs.size() > 2 ||
      node.outputs.size() != 1)
    return no_value;
  const Module& module = rewriter.module();
  for (const ValueId input : node.inputs) {
    if (module.value(input).kind != ValueKind::Constant) return no_value;
  }
  const Value a = module.value(node.inputs.front()), b = module.value(node.inputs.back());
  const DType dtype = module.value(node.outputs[0]).type.dtype;
  if (node.op->id == OpId::Cast) return fold_cast(rewriter, a, dtype);
  const ScalarOpInfo* op = node.op->scalar;
  if (op == nullptr || a.type.dtype != dtype) return no_value;
  if (is_float(dtype)) {
    if (!op->has(Folds) && !op->has(FoldsFloats)) return no_value;
    return rewriter.number(
        dtype, rounded(dtype, op->number(rounded(dtype, a.constant), rounded(dtype, b.constant))));
  }
  if (!op->has(Folds) || dtype == DType::boolean) return no_value;
  return rewriter.integer(
      dtype, wrapped(dtype, static_cast<std::uint64_t>(op->integer(dtype, a.integer, b.integer))));
}

}  // namespace dyn::graph
