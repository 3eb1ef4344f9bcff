#include "targets/cpu/move/narrow_weights.hpp"

#include <set>

namespace dyn::cpu {
namespace {

using rkernel::Expr;
using rkernel::ExprOp;
using rkernel::Form;
using rkernel::Operand;
using rkernel::Problem;

std::set<graph::ValueId> gathered_panels(const std::vector<Problem>& problems) {
  std::set<graph::ValueId> buffers;
  for (const Problem& problem : problems) {
    for (const Operand& operand : problem.operands) {
      if (operand.form == Form::Packed && operand.gathers) buffers.insert(operand.buffer);
    }
  }
  return buffers;
}

/// The scales of the right side's columns, as an operand.
int add_scales(Problem& problem) {
  const Operand& b = problem.operands[static_cast<std::size_t>(problem.contraction->b)];
  graph::DimTable& dims = problem.axes.front().extent.table();
  Operand scales;
  scales.name = b.name + ".scales";
  scales.buffer = b.buffer;
  scales.form = Form::Scales;
  scales.offset = dims.constant(0);
  scales.strides.assign(problem.axes.size(), dims.constant(0));
  scales.strides[static_cast<std::size_t>(problem.contraction->n)] = dims.constant(1);
  problem.operands.push_back(std::move(scales));
  return static_cast<int>(problem.operands.size()) - 1;
}

/// Each accumulator becomes its product with the scale, in its place in the order.
void multiply_by_scales(Problem& problem) {
  const int scales = add_scales(problem);
  std::vector<Expr> exprs;
  std::vector<int> moved;  // by old index
  for (Expr expr : problem.exprs) {
    for (int& argument : expr.args) {
      if (argument >= 0) argument = moved[static_cast<std::size_t>(argument)];
    }
    exprs.push_back(expr);
    if (expr.op == ExprOp::Accumulator) {
      const int accumulator = static_cast<int>(exprs.size()) - 1;
      Expr& scale = exprs.emplace_back();
      scale.op = ExprOp::Load;
      scale.operand = scales;
      Expr& product = exprs.emplace_back();
      product.op = ExprOp::Mul;
      product.args[0] = accumulator;
      product.args[1] = accumulator + 1;
    }
    moved.push_back(static_cast<int>(exprs.size()) - 1);
  }
  for (rkernel::Store& store : problem.stores)
    store.expr = moved[static_cast<std::size_t>(store.expr)];
  problem.exprs = std::move(exprs);
}

/// Whether panels can take the codes of the operand's buffer as they lie.
bool keeps_codes(const Problem& problem, const Operand& operand) {
  if (!operand.held_coding || !problem.contraction) return false;
  const rkernel::Contraction& contraction = *problem.contraction;
  const auto k = static_cast<std::size_t>(contraction.k);
  const graph::Dim depth = problem.axes[k].extent;
  return &operand == &problem.operands[static_cast<std::size_t>(contraction.b)] &&
         operand.offset.constant() == 0 && operand.strides[k].constant() == 1 &&
         operand.strides[static_cast<std::size_t>(contraction.n)] == depth;
}

}  // namespace

void narrow_weights(std::vector<Problem>& problems, const rkernel::Factors& weights,
                    const codegen::Isa& isa) {
  const DType dtype = weights.weights;
  const bool has_scales = dtype == DType::i8 || weights.coded();
  const std::set<graph::ValueId> gathered = gathered_panels(problems);
  for (Problem& problem : problems) {
    if (rkernel::group_of(problem) != rkernel::Group::None) continue;
    for (Operand& operand : problem.operands) {
      if (operand.form != Form::Packed) continue;
      if (keeps_codes(problem, operand)) {
        operand.coding = operand.held_coding;
        operand.dtype = DType::i4;
      } else {
        operand.held_coding = {};
      }
      const bool stays =
          !has_scales && operand.held != DType::f32 && codegen::can_widen(isa, operand.held);
      // Only a contraction multiplies by scales.
      const bool scaled = problem.contraction && !gathered.contains(operand.buffer);
      const DType wanted = has_scales && !scaled ? DType::bf16 : dtype;
      if (!operand.coding) operand.dtype = stays ? operand.held : wanted;
      if (scaled && !operand.coding) operand.coding = weights.coding;
      if (operand.coding && !codegen::can_widen(isa, operand.coding.scale))
        operand.coding.scale = DType::f32;
    }
    if (problem.contraction &&
        problem.operands[static_cast<std::size_t>(problem.contraction->b)].dtype == DType::i8)
      multiply_by_scales(problem);
  }
}

}  // namespace dyn::cpu
