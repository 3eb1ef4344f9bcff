#include "targets/llvm/math/recurrent_cell.hpp"

namespace dyn::codegen {
namespace {

using llvm::Value;

/// Gates in the order of the operators' columns.
enum LstmGate { input_gate, output_gate, forget_gate, cell_gate };
enum LstmPeephole { input_peephole, output_peephole, forget_peephole };
enum GruGate { update_gate, reset_gate, hidden_gate };

}  // namespace

Value* CellCode::with_peephole(Value* sum, int index, Value* c) {
  if (!reader_.has_peepholes) return sum;
  return builder_.CreateFAdd(sum, builder_.CreateFMul(reader_.peephole(index), c));
}

Value* CellCode::clipped(Value* x) {
  if (cell_.clip <= 0) return x;
  Value *most = splat(cell_.clip), *least = splat(-cell_.clip);
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, least), least, x);
  return builder_.CreateSelect(builder_.CreateFCmpOGT(x, most), most, x);
}

Value* CellCode::where_below(Value* x, double limit, Value* below) {
  return builder_.CreateSelect(builder_.CreateFCmpOLT(x, splat(limit)), below, x);
}

Value* CellCode::activated(const graph::Activation& activation, Value* x) {
  using graph::CellFunction;
  using rkernel::ExprOp;
  Value *alpha = splat(activation.alpha), *beta = splat(activation.beta), *zero = splat(0.0),
        *one = splat(1.0);
  switch (activation.function) {
    case CellFunction::Sigmoid: return scalar(ExprOp::Sigmoid, x);
    case CellFunction::Tanh: return scalar(ExprOp::Tanh, x);
    case CellFunction::Relu: return scalar(ExprOp::Relu, x);
    case CellFunction::Affine: return fused(alpha, x, beta);
    case CellFunction::LeakyRelu: return where_below(x, 0, builder_.CreateFMul(alpha, x));
    case CellFunction::ThresholdedRelu: return where_below(x, activation.alpha, zero);
    case CellFunction::ScaledTanh:
      return builder_.CreateFMul(alpha, scalar(ExprOp::Tanh, builder_.CreateFMul(beta, x)));
    case CellFunction::HardSigmoid: {
      Value* line = where_below(fused(alpha, x, beta), 0, zero);
      return builder_.CreateSelect(builder_.CreateFCmpOGT(line, one), one, line);
    }
    case CellFunction::Elu: {
      Value* power = builder_.CreateFSub(scalar(ExprOp::Exp, x), one);
      return where_below(x, 0, builder_.CreateFMul(alpha, power));
    }
    case CellFunction::Softsign:
      return builder_.CreateFDiv(x, builder_.CreateFAdd(one, scalar(ExprOp::Abs, x)));
    case CellFunction::Softplus: break;
  }
  // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), in which nothing is too large.
  Value* power = scalar(ExprOp::Exp, builder_.CreateFNeg(scalar(ExprOp::Abs, x)));
  return builder_.CreateFAdd(where_below(x, 0, zero),
                             scalar(ExprOp::Log, builder_.CreateFAdd(one, power)));
}

CellCode::State CellCode::lstm(const std::array<Value*, 4>& sums, Value* c) {
  const auto sum = [&](int index) {
    return builder_.CreateFAdd(reader_.gate(index), sums[static_cast<std::size_t>(index)]);
  };
  Value* input = activated(cell_.f, clipped(with_peephole(sum(input_gate), input_peephole, c)));
  Value* forget =
      cell_.input_forget
          ? builder_.CreateFSub(splat(1.0), input)
          : activated(cell_.f, clipped(with_peephole(sum(forget_gate), forget_peephole, c)));
  Value* fresh = activated(cell_.g, clipped(sum(cell_gate)));
  Value* next = fused(forget, c, builder_.CreateFMul(input, fresh));
  Value* output =
      activated(cell_.f, clipped(with_peephole(sum(output_gate), output_peephole, next)));
  Value* seen = activated(cell_.h, next);
  return {builder_.CreateFMul(output, seen), next};
}

Value* CellCode::rnn(Value* sum) {
  return activated(cell_.f, clipped(builder_.CreateFAdd(reader_.gate(0), sum)));
}

CellCode::Gates CellCode::gru_gates(Value* update_sum, Value* reset_sum) {
  Value* update =
      activated(cell_.f, clipped(builder_.CreateFAdd(reader_.gate(update_gate), update_sum)));
  Value* reset =
      activated(cell_.f, clipped(builder_.CreateFAdd(reader_.gate(reset_gate), reset_sum)));
  return {update, reset};
}

Value* CellCode::gru(Value* update, Value* sum, Value* h) {
  Value* fresh = activated(cell_.g, clipped(builder_.CreateFAdd(reader_.gate(hidden_gate), sum)));
  Value* left = builder_.CreateFSub(splat(1.0), update);
  return fused(left, fresh, builder_.CreateFMul(update, h));
}

}  // namespace dyn::codegen
