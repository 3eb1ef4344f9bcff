#include "tests/support/problems/typical_problems.hpp"

namespace dyn::testing {

using rkernel::AxisKind;
using rkernel::ExprOp;

void softmax(ProblemBuilder& b) {
  const int row = 0, column = 1;
  const int x = b.dense(DType::f32, {row, column});
  const int mask = b.dense(DType::f32, {column});
  const int out = b.dense(DType::f32, {row, column}, true);
  const int scaled =
      b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {b.load(x), b.number(0.5)}), b.load(mask)});
  const int largest = b.expr(ExprOp::ReduceMax, {scaled});
  const int e = b.expr(ExprOp::Exp, {b.expr(ExprOp::Sub, {scaled, largest})});
  const int sum = b.expr(ExprOp::ReduceSum, {e});
  b.store(b.expr(ExprOp::Div, {e, sum}), out);
}

void layer_norm(ProblemBuilder& b) {
  const int row = 0, column = 1;
  const int x = b.dense(DType::f32, {row, column});
  const int residual = b.dense(DType::f32, {row, column});
  const int scale = b.dense(DType::f32, {column});
  const int bias = b.dense(DType::f32, {column});
  const int sum_out = b.dense(DType::f32, {row, column}, true);
  const int out = b.dense(DType::f32, {row, column}, true);
  const int value = b.expr(ExprOp::Add, {b.load(x), b.expr(ExprOp::Tanh, {b.load(residual)})});
  const int count = b.expr(ExprOp::Cast, {b.dim(b.problem.axes[1].extent)});
  const int mean = b.expr(ExprOp::Div, {b.expr(ExprOp::ReduceSum, {value}), count});
  const int centred = b.expr(ExprOp::Sub, {value, mean});
  const int square = b.expr(ExprOp::ReduceSum, {b.expr(ExprOp::Mul, {centred, centred})});
  const int variance = b.expr(ExprOp::Add, {b.expr(ExprOp::Div, {square, count}), b.number(1e-5)});
  const int normal = b.expr(ExprOp::Mul, {centred, b.expr(ExprOp::Rsqrt, {variance})});
  b.store(value, sum_out);
  b.store(b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {normal, b.load(scale)}), b.load(bias)}), out);
}

void element_wise(ProblemBuilder& b) {
  const int x = b.dense(DType::f32, {0, 1}), bias = b.dense(DType::f32, {1}),
            scale = b.dense(DType::f32, {0});
  const int b_transposed = b.dense(DType::f32, {1, 0}), flag = b.dense(DType::boolean, {0, 1});
  const int out = b.dense(DType::f32, {0, 1}, true), transposed = b.dense(DType::f32, {1, 0}, true);
  const int negative = b.dense(DType::boolean, {0, 1}, true),
            position = b.dense(DType::i64, {0, 1}, true);
  const int sum =
      b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {b.load(x), b.load(scale)}), b.load(bias)});
  const int half = b.expr(ExprOp::Mul, {sum, b.number(0.70710678)});
  const int gelu =
      b.expr(ExprOp::Mul, {sum, b.expr(ExprOp::Add, {b.expr(ExprOp::Erf, {half}), b.number(1)})});
  b.store(b.expr(ExprOp::Select, {b.load(flag), gelu, b.load(b_transposed)}), out);
  b.store(sum, transposed);
  b.store(b.expr(ExprOp::Less, {b.load(x), b.number(0)}, DType::boolean), negative);
  const int columns_before =
      b.expr(ExprOp::Mul, {b.index(1), b.dim(b.problem.axes[0].extent)}, DType::i64);
  b.store(b.expr(ExprOp::Add, {b.index(0), columns_before}, DType::i64), position);
}

void outer_mean(ProblemBuilder& b) {
  const int x = b.dense(DType::f32, {1, 0}), out = b.dense(DType::f32, {0}, true),
            most = b.dense(DType::f32, {0}, true);
  const int centred = b.dense(DType::f32, {1, 0}, true);
  const int sum = b.expr(ExprOp::ReduceSum, {b.load(x)});
  const int mean =
      b.expr(ExprOp::Div, {sum, b.expr(ExprOp::Cast, {b.dim(b.problem.axes[1].extent)})});
  b.store(mean, out);
  b.store(b.expr(ExprOp::ReduceMax, {b.load(x)}), most);
  b.store(b.expr(ExprOp::Sub, {b.load(x), mean}), centred);
}

void totals(ProblemBuilder& b, DType dtype) {
  const int x = b.dense(dtype, {0, 1});
  for (const ExprOp op : {ExprOp::ReduceSum, ExprOp::ReduceMax, ExprOp::ReduceMin})
    b.store(b.expr(op, {b.load(x)}, dtype), b.dense(dtype, {}, true));
}

void pad(ProblemBuilder& b, int axis, DType dtype) {
  const std::int64_t extent = b.extents[static_cast<std::size_t>(axis)];
  const std::int64_t low = extent / 3, high = extent - extent / 4;
  std::int64_t shape[2] = {b.extents[0], b.extents[1]};
  shape[axis] = high - low;
  const std::vector<graph::Dim> strides = {b.symbol(shape[1]), b.constant(1)};
  const int x = b.operand(dtype, strides, shape[0] * shape[1]);
  auto& operand = b.problem.operands.back();
  operand.offset = b.constant(0) - b.symbol(low) * strides[static_cast<std::size_t>(axis)];
  operand.guards.push_back(rkernel::range_of(axis, b.symbol(low), b.symbol(high)));
  operand.fill = 2.5;
  const int column = b.dense(DType::i32, {1});
  b.store(b.load(x), b.dense(dtype, {0, 1}, true));
  b.store(b.load(column), b.dense(DType::i32, {1, 0}, true));
}

int embedding(ProblemBuilder& b, std::int64_t rows) {
  const int ids = b.dense(DType::i64, {0});
  const int table = b.operand(DType::f32, {b.constant(0), b.constant(1)}, rows * b.extents[1]);
  auto& operand = b.problem.operands.back();
  operand.gathers = true;
  operand.gather_extent = b.symbol(rows);
  operand.gather_stride = b.problem.axes[1].extent;
  const int out = b.dense(DType::f32, {0, 1}, true);
  b.store(b.load(table, b.load(ids)), out);
  return ids;
}

int lookup(ProblemBuilder& b, std::int64_t extent) {
  const int ids = b.dense(DType::i64, {0});
  const int table = b.operand(DType::f32, {b.constant(0)}, extent);
  auto& operand = b.problem.operands.back();
  operand.gathers = true;
  operand.gather_extent = b.symbol(extent);
  operand.gather_stride = b.constant(1);
  b.store(b.load(table, b.load(ids)), b.dense(DType::f32, {0}, true));
  return ids;
}

}  // namespace dyn::testing
