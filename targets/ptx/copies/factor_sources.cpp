#include "targets/ptx/copies/factor_sources.hpp"

#include <algorithm>

#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/ptx/ir/device_math.hpp"

namespace dyn::ptx {
namespace {

using rkernel::ExprOp;
using rkernel::Problem;

constexpr int register_bytes = 4, address_registers = 2;
/// Of one group: addresses, comparisons, and the load or store, for each operand and for the tile.
constexpr double access_instructions = 5;

int registers_of_bytes(int bytes) { return (bytes + register_bytes - 1) / register_bytes; }

const rkernel::Operand& operand_of(const ComputedFactor& factor, const FactorSource& source) {
  return factor.problem->operands[static_cast<std::size_t>(source.operand)];
}

int element_bytes(const ComputedFactor& factor, const FactorSource& source) {
  return static_cast<int>(size_of(operand_of(factor, source).dtype));
}

std::vector<int> roots_of_epilogue(const Problem& problem) {
  std::vector<int> roots;
  for (const rkernel::Store& store : problem.stores) roots.push_back(store.expr);
  return roots;
}

bool is_plain_load(const ComputedFactor& factor) {
  if (!factor.is_computed()) return false;
  const rkernel::Expr& expr = factor.problem->exprs[static_cast<std::size_t>(factor.root)];
  return expr.op == ExprOp::Load && expr.args[0] < 0 &&
         is_float(factor.problem->operands[static_cast<std::size_t>(expr.operand)].dtype);
}

}  // namespace

ComputedFactor left_factor(const Problem& problem) {
  const rkernel::Contraction& contraction = problem.contraction.value();
  return {&problem, contraction.a_value, contraction.m, contraction.k};
}

ComputedFactor right_factor(const Problem& problem) {
  const rkernel::Contraction& contraction = problem.contraction.value();
  return {&problem, contraction.b_value, contraction.k, contraction.n};
}

bool has_plain_factor(const Problem& problem) {
  return is_plain_load(left_factor(problem)) || is_plain_load(right_factor(problem));
}

Problem with_plain_factors(Problem problem) {
  rkernel::Contraction& contraction = problem.contraction.value();
  if (is_plain_load(left_factor(problem))) contraction.a_value = -1;
  if (is_plain_load(right_factor(problem))) contraction.b_value = -1;
  return problem;
}

std::vector<FactorSource> sources_of(const ComputedFactor& factor) {
  const Problem& problem = *factor.problem;
  const std::vector<bool> reached = rkernel::reached_exprs(problem.exprs, {&factor.root, 1});
  std::vector<FactorSource> sources;
  for (std::size_t i = 0; i < problem.exprs.size(); ++i) {
    const rkernel::Expr& expr = problem.exprs[i];
    if (!reached[i] || expr.op != ExprOp::Load) continue;
    const auto& strides = problem.operands[static_cast<std::size_t>(expr.operand)].strides;
    const auto varies = [&](int axis) {
      return strides[static_cast<std::size_t>(axis)].constant() != 0;
    };
    auto known = std::ranges::find(sources, expr.operand, &FactorSource::operand);
    if (known == sources.end())
      known = sources.insert(
          known, {expr.operand, {}, varies(factor.row_axis), varies(factor.column_axis)});
    known->loads.push_back(static_cast<int>(i));
  }
  return sources;
}

bool groups_now(const ComputedFactor& factor, const FactorSource& source,
                const codegen::SlotTable& slots, std::span<const std::int64_t> ints) {
  if (!source.along_columns) return true;
  const auto is_whole = [&](int slot) { return codegen::value_of(slot, ints) % factor_group == 0; };
  bool all = is_whole(slots.offset(source.operand));
  for (int axis = 0; axis < static_cast<int>(factor.problem->axes.size()); ++axis) {
    const int stride = slots.stride(source.operand, axis);
    all = all &&
          (axis == factor.column_axis ? codegen::value_of(stride, ints) == 1 : is_whole(stride));
  }
  return all;
}

double bytes_of_element(const ComputedFactor& factor) {
  double bytes = 0;
  for (const FactorSource& source : sources_of(factor)) {
    if (source.is_dense()) bytes += element_bytes(factor, source);
  }
  return bytes;
}

double operations_of_element(const ComputedFactor& factor, bool aligned) {
  const Problem& problem = *factor.problem;
  const std::vector<bool> reached = rkernel::reached_exprs(problem.exprs, {&factor.root, 1});
  double operations = access_instructions / factor_group;
  for (const FactorSource& source : sources_of(factor)) {
    if (source.along_rows || source.along_columns)
      operations += access_instructions / (aligned ? factor_group : 1);
  }
  for (std::size_t i = 0; i < problem.exprs.size(); ++i) {
    const rkernel::Expr& expr = problem.exprs[i];
    if (reached[i] && expr.op != ExprOp::Load)
      operations += codegen::instructions_of(problem, expr, codegen::StrideClass::Unit,
                                             device_math.approximations);
  }
  return operations;
}

int registers_of(const ComputedFactor& factor, const FactorTile& tile) {
  int registers = 0;
  for (const FactorSource& source : sources_of(factor)) {
    const int once = registers_of_bytes(element_bytes(factor, source) *
                                        (source.along_columns ? factor_group : 1));
    const bool each = source.along_rows || (source.along_columns && !tile.has_fixed_columns());
    registers += once * (each ? tile.groups_of_thread() : 1) + 2 * address_registers;
  }
  return registers;
}

std::vector<bool> epilogue_exprs(const Problem& problem) {
  return rkernel::reached_exprs(problem.exprs, roots_of_epilogue(problem));
}

std::vector<bool> epilogue_operands(const Problem& problem) {
  std::vector<bool> touched(problem.operands.size(), false);
  const std::vector<bool> reached = epilogue_exprs(problem);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] && problem.exprs[i].operand >= 0)
      touched[static_cast<std::size_t>(problem.exprs[i].operand)] = true;
  }
  for (const rkernel::Store& store : problem.stores)
    touched[static_cast<std::size_t>(store.operand)] = true;
  return touched;
}

}  // namespace dyn::ptx
