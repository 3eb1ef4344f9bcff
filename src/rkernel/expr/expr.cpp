#include "src/rkernel/expr/expr.hpp"

namespace dyn::rkernel {
namespace {

struct Row {
  std::string_view name;
  int arguments;
  bool exact;
};

/// Operators that are no graph::ScalarOp.
Row row_of(ExprOp op) {
  switch (op) {
    case ExprOp::Constant: return {"constant", 0, true};
    case ExprOp::DimValue: return {"dim", 0, true};
    case ExprOp::Index: return {"index", 0, true};
    case ExprOp::Load: return {"load", 0, true};
    case ExprOp::Accumulator: return {"accumulator", 0, false};
    case ExprOp::Cast: return {"cast", 1, false};
    case ExprOp::BitCast: return {"bit_cast", 1, true};
    case ExprOp::RoundF16: return {"round_f16", 1, false};
    case ExprOp::RoundBf16: return {"round_bf16", 1, false};
    case ExprOp::Select: return {"select", 3, true};
    case ExprOp::ReduceSum: return {"reduce_sum", 1, false};
    case ExprOp::ReduceMax: return {"reduce_max", 1, true};
    case ExprOp::ReduceMin: return {"reduce_min", 1, true};
    case ExprOp::ReduceProd: return {"reduce_prod", 1, false};
    default: break;
  }
  const graph::ScalarOpInfo& scalar = graph::info_of(*scalar_op(op));
  return {scalar.text, scalar.operands, scalar.has(graph::Exact)};
}

}  // namespace

std::string_view name_of(ExprOp op) noexcept { return row_of(op).name; }
int argument_count(ExprOp op) noexcept { return row_of(op).arguments; }
bool is_exact(ExprOp op) noexcept { return row_of(op).exact; }

std::vector<bool> reached_exprs(std::span<const Expr> exprs, std::span<const int> roots) {
  std::vector<bool> reached(exprs.size(), false);
  for (const int root : roots) {
    if (root >= 0) reached[static_cast<std::size_t>(root)] = true;
  }
  for (std::size_t expr = exprs.size(); expr-- > 0;) {
    for (const int argument : exprs[expr].args) {
      if (reached[expr] && argument >= 0) reached[static_cast<std::size_t>(argument)] = true;
    }
  }
  return reached;
}

}  // namespace dyn::rkernel
