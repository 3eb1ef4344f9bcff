#include "targets/ptx/attention/grouped_heads.hpp"

#include <algorithm>
#include <utility>

namespace dyn::ptx {

std::optional<rkernel::Problem> heads_as_rows(const rkernel::Problem& problem) {
  const rkernel::Attention& attention = *problem.attention;
  if (attention.m == 0) return std::nullopt;
  const auto rows = static_cast<std::size_t>(attention.m), heads = rows - 1;
  if (graph::bounds(problem.axes[rows].extent).low > 1 ||
      graph::bounds(problem.axes[heads].extent).high < 2)
    return std::nullopt;
  for (const int operand : {attention.k, attention.v}) {
    const auto& strides = problem.operands[static_cast<std::size_t>(operand)].strides;
    if (strides[heads].constant() != 0) return std::nullopt;
  }
  if (!std::ranges::all_of(problem.operands,
                           [](const rkernel::Operand& operand) { return operand.guards.empty(); }))
    return std::nullopt;
  rkernel::Problem turned = problem;
  turned.name += "_groups";
  turned.attention->causal = false;
  std::swap(turned.axes[rows], turned.axes[heads]);
  for (rkernel::Operand& operand : turned.operands)
    std::swap(operand.strides[rows], operand.strides[heads]);
  for (rkernel::Expr& expr : turned.exprs) {
    if (expr.axis == static_cast<int>(rows))
      expr.axis = static_cast<int>(heads);
    else if (expr.axis == static_cast<int>(heads))
      expr.axis = static_cast<int>(rows);
  }
  return turned;
}

}  // namespace dyn::ptx
