#include "targets/ptx/programs/epilogue_figures.hpp"

#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/ptx/copies/factor_sources.hpp"
#include "targets/ptx/ir/device_math.hpp"

namespace dyn::ptx {
namespace {

/// Of the output's columns, those that the operand has.
double share_of_columns(const rkernel::Problem& problem, const rkernel::Operand& operand) {
  const int n = problem.contraction->n;
  const auto all = problem.axes[static_cast<std::size_t>(n)].extent.constant();
  for (const rkernel::Guard& guard : operand.guards) {
    const auto low = guard.low.constant(), high = guard.high.constant();
    if (guard.range_axis() == n && all && low && high)
      return static_cast<double>(*high - *low) / static_cast<double>(*all);
  }
  return 1;
}

}  // namespace

EpilogueFigures epilogue_figures(const rkernel::Problem& problem) {
  const auto sides = static_cast<double>(problem.contraction->right_sides().size());
  EpilogueFigures figures;
  // Sums are read, results stored.
  figures.operations = sides + static_cast<double>(problem.stores.size());
  const std::vector<bool> exprs = epilogue_exprs(problem);
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    if (exprs[i])
      figures.operations += codegen::instructions_of(
          problem, problem.exprs[i], codegen::StrideClass::Unit, device_math.approximations);
  }
  const std::vector<bool> operands = epilogue_operands(problem);
  const auto varies = [&](const rkernel::Operand& operand, int axis) {
    return operand.strides[static_cast<std::size_t>(axis)].constant() != 0;
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const rkernel::Operand& operand = problem.operands[i];
    if (operands[i] && varies(operand, problem.contraction->m) &&
        varies(operand, problem.contraction->n))
      figures.bytes +=
          share_of_columns(problem, operand) * static_cast<double>(size_of(operand.dtype));
  }
  return {figures.operations / sides, figures.bytes / sides};
}

}  // namespace dyn::ptx
