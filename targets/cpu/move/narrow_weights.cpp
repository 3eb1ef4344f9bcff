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

/// The numbers of the right side's columns that lie behind its panels, as an operand.
int add_numbers(Problem& problem, const char* what) {
  const Operand& b = problem.operands[static_cast<std::size_t>(problem.contraction->b)];
  graph::DimTable& dims = problem.axes.front().extent.table();
  Operand numbers;
  numbers.name = b.name + what;
  numbers.buffer = b.buffer;
  numbers.form = Form::Scales;
  numbers.offset = dims.constant(0);
  numbers.strides.assign(problem.axes.size(), dims.constant(0));
  numbers.strides[static_cast<std::size_t>(problem.contraction->n)] = dims.constant(1);
  problem.operands.push_back(std::move(numbers));
  return static_cast<int>(problem.operands.size()) - 1;
}

/// Each accumulator becomes what `put` appends for it, in its place in the order: expressions that
/// end with the new value.
template <class Put>
void replace_accumulators(Problem& problem, const Put& put) {
  std::vector<Expr> exprs;
  std::vector<int> moved;  // by old index
  for (Expr expr : problem.exprs) {
    for (int& argument : expr.args) {
      if (argument >= 0) argument = moved[static_cast<std::size_t>(argument)];
    }
    exprs.push_back(expr);
    if (expr.op == ExprOp::Accumulator) put(exprs, static_cast<int>(exprs.size()) - 1);
    moved.push_back(static_cast<int>(exprs.size()) - 1);
  }
  for (rkernel::Store& store : problem.stores)
    store.expr = moved[static_cast<std::size_t>(store.expr)];
  for (int* value : {&problem.contraction->a_value, &problem.contraction->b_value}) {
    if (*value >= 0) *value = moved[static_cast<std::size_t>(*value)];
  }
  problem.exprs = std::move(exprs);
}

int append(std::vector<Expr>& exprs, ExprOp op, int a, int b) {
  Expr& expr = exprs.emplace_back();
  expr.op = op;
  expr.args[0] = a;
  expr.args[1] = b;
  return static_cast<int>(exprs.size()) - 1;
}

int append_load(std::vector<Expr>& exprs, int operand) {
  const int load = append(exprs, ExprOp::Load, -1, -1);
  exprs.back().operand = operand;
  return load;
}

void multiply_by_scales(Problem& problem) {
  const int scales = add_numbers(problem, ".scales");
  replace_accumulators(problem, [&](std::vector<Expr>& exprs, int accumulator) {
    append(exprs, ExprOp::Mul, accumulator, append_load(exprs, scales));
  });
}

/// Whether panels can take the codes of the operand's buffer as they lie.
bool keeps_codes(const Problem& problem, const Operand& operand) {
  if (!operand.held_coding || !problem.contraction) return false;
  const rkernel::Contraction& contraction = *problem.contraction;
  // A byte less a zero point is no byte.
  if (contraction.group == rkernel::Group::Bytes && operand.held_coding.bits == 8 &&
      operand.held_coding.zero_points)
    return false;
  const auto k = static_cast<std::size_t>(contraction.k);
  const graph::Dim depth = problem.axes[k].extent;
  return &operand == &problem.operands[static_cast<std::size_t>(contraction.b)] &&
         operand.offset.constant() == 0 && operand.strides[k].constant() == 1 &&
         operand.strides[static_cast<std::size_t>(contraction.n)] == depth;
}

}  // namespace

void subtract_zeros(Problem& problem) {
  const int sums = add_numbers(problem, ".sums");
  replace_accumulators(problem, [&](std::vector<Expr>& exprs, int accumulator) {
    const int zero = append(exprs, ExprOp::Constant, -1, -1);
    exprs.back().number = static_cast<double>(problem.contraction->zero);
    const int of_zeros = append(exprs, ExprOp::Mul, append_load(exprs, sums), zero);
    append(exprs, ExprOp::Sub, accumulator, of_zeros);
  });
}

void choose_codes(const Problem& problem, Operand& operand, const rkernel::Factors& weights,
                  const codegen::Isa& isa) {
  if (keeps_codes(problem, operand)) {
    operand.coding = operand.held_coding;
  } else {
    operand.held_coding = {};
    operand.coding = weights.coding;
  }
  if (!operand.coding) return;
  operand.dtype = operand.coding.codes();
  if (!codegen::can_widen(isa, operand.coding.scale)) operand.coding.scale = DType::f32;
}

void narrow_weights(std::vector<Problem>& problems, const rkernel::Factors& weights,
                    const codegen::Isa& isa) {
  const DType dtype = weights.weights;
  const bool has_scales = dtype == DType::i8 || weights.coded();
  const std::set<graph::ValueId> gathered = gathered_panels(problems);
  for (Problem& problem : problems) {
    if (rkernel::group_of(problem) != rkernel::Group::None) continue;
    for (Operand& operand : problem.operands) {
      if (operand.form != Form::Packed) continue;
      // Only a contraction multiplies by scales.
      const bool scaled = problem.contraction && !gathered.contains(operand.buffer);
      choose_codes(problem, operand, scaled ? weights : rkernel::Factors(), isa);
      if (operand.coding) continue;
      const bool stays =
          !has_scales && operand.held != DType::f32 && codegen::can_widen(isa, operand.held);
      const DType wanted = has_scales && !scaled ? DType::bf16 : dtype;
      operand.dtype = stays ? operand.held : wanted;
    }
    if (!problem.contraction) continue;
    const Operand& b = problem.operands[static_cast<std::size_t>(problem.contraction->b)];
    if (b.form == Form::Packed && b.dtype == DType::i8 && !b.coding) multiply_by_scales(problem);
  }
}

}  // namespace dyn::cpu
