#include "src/runtime/plan/linear_dim.hpp"

namespace dyn::runtime {
namespace {

using graph::DimNode;
using graph::DimOp;

/// A term of a sum, where it is a symbol times a constant.
std::optional<LinearDim> as_term(graph::Dim dim) {
  if (const auto symbol = dim.symbol()) return LinearDim{*symbol, 1, 0};
  const DimNode& node = *dim.node();
  if (node.op != DimOp::Mul || node.operands.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto factor = node.operands[i].constant();
    const auto symbol = node.operands[1 - i].symbol();
    if (factor && symbol && *factor != 0) return LinearDim{*symbol, *factor, 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LinearDim> as_linear(graph::Dim dim) {
  const DimNode& node = *dim.node();
  if (node.op != DimOp::Add) return as_term(dim);
  LinearDim sum;
  for (const graph::Dim operand : node.operands) {
    if (const auto constant = operand.constant()) {
      sum.constant += *constant;
      continue;
    }
    const auto term = as_term(operand);
    if (!term || sum.symbol >= 0) return std::nullopt;
    sum.symbol = term->symbol;
    sum.factor = term->factor;
  }
  return sum.symbol >= 0 ? std::optional(sum) : std::nullopt;
}

void mark_symbols(graph::Dim dim, std::vector<bool>& used) {
  for_each_symbol(dim, [&](int symbol) { used[static_cast<std::size_t>(symbol)] = true; });
}

}  // namespace dyn::runtime
