#include "targets/llvm/problem/reduction.hpp"

#include <limits>
#include <numeric>
#include <vector>

#include "graph/ir/scalars.hpp"

namespace dyn::codegen {

using rkernel::ExprOp;

namespace {

std::int64_t neutral_integer(ExprOp op, DType dtype) {
  if (op == ExprOp::ReduceMax) return graph::least(dtype);
  if (op == ExprOp::ReduceMin) return graph::greatest(dtype);
  return op == ExprOp::ReduceProd ? 1 : 0;
}

ExprOp step_of(ExprOp op) {
  switch (op) {
    case ExprOp::ReduceMax: return ExprOp::Max;
    case ExprOp::ReduceMin: return ExprOp::Min;
    case ExprOp::ReduceProd: return ExprOp::Mul;
    default: return ExprOp::Add;
  }
}

}  // namespace

double neutral_number(ExprOp op) {
  if (op == ExprOp::ReduceMax) return -std::numeric_limits<double>::infinity();
  if (op == ExprOp::ReduceMin) return std::numeric_limits<double>::infinity();
  return op == ExprOp::ReduceProd ? 1 : 0;
}

llvm::Value* Reduction::neutral(int width) {
  return broadcast(
      builder_,
      math_.constant(expr_.dtype, neutral_number(expr_.op), neutral_integer(expr_.op, expr_.dtype)),
      width);
}

llvm::Value* Reduction::step(llvm::Value* so_far, llvm::Value* next) {
  // An extremum looks for NaN in its first argument, which must not lengthen the chain.
  return math_.apply(step_of(expr_.op), expr_.dtype, expr_.dtype, next, so_far);
}

llvm::Value* Reduction::masked_step(llvm::Value* so_far, llvm::Value* next, llvm::Value* mask) {
  llvm::Value* result = step(so_far, next);
  return mask == nullptr ? result : builder_.CreateSelect(mask, result, so_far);
}

llvm::Value* Reduction::merge(std::span<llvm::Value* const> parts) {
  std::vector<llvm::Value*> left(parts.begin(), parts.end());
  while (left.size() > 1) {
    const std::size_t half = left.size() / 2;
    for (std::size_t i = 0; i < half; ++i) left[i] = step(left[i], left[i + half]);
    left.resize(half);
  }
  llvm::Value* lanes = left.front();
  for (int width = width_of(lanes); width > 1; width /= 2) {
    std::vector<int> low(static_cast<std::size_t>(width / 2)), high(low.size());
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), width / 2);
    if (width == 2) {
      lanes = step(builder_.CreateExtractElement(lanes, std::uint64_t{0}),
                   builder_.CreateExtractElement(lanes, std::uint64_t{1}));
    } else {
      lanes =
          step(builder_.CreateShuffleVector(lanes, low), builder_.CreateShuffleVector(lanes, high));
    }
  }
  return lanes;
}

}  // namespace dyn::codegen
