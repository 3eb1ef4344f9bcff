#include "tests/unit/ptx/loop/cases.hpp"

#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "tests/support/problems/typical_problems.hpp"

namespace dyn::test {

using rkernel::AxisKind;
using rkernel::ExprOp;
using testing::ProblemBuilder;

namespace {

constexpr AxisKind parallel = AxisKind::Parallel, reduction = AxisKind::Reduction;

auto plain(void (*write)(ProblemBuilder&)) {
  return [write](ProblemBuilder& b) {
    write(b);
    return -1;
  };
}

/// softmax over 16-bit floats, all in f32 between load and store.
int narrow_softmax(ProblemBuilder& b) {
  testing::softmax(b);
  b.problem.operands[0].dtype = DType::bf16;
  b.problem.operands[1].dtype = DType::f16;
  b.problem.operands[2].dtype = DType::bf16;
  return -1;
}

/// The operators of one float, as graph/ops/scalar_ops.def has them.
std::vector<ExprOp> float_functions() {
  std::vector<ExprOp> functions;
  for (const graph::ScalarOpInfo& info : graph::scalar_ops()) {
    const bool on_floats =
        info.takes == graph::ScalarOperands::Floats || info.takes == graph::ScalarOperands::Numbers;
    if (info.operands == 1 && on_floats) functions.push_back(rkernel::expr_op(info.op));
  }
  return functions;
}

/// Every operator on floats, on values where each is defined and tame.
int float_operators(ProblemBuilder& b) {
  const int x = b.load(b.dense(DType::f32, {0, 1})), y = b.load(b.dense(DType::f32, {0, 1}));
  const int positive = b.expr(ExprOp::Add, {b.expr(ExprOp::Abs, {x}), b.number(0.5)});
  const int small = b.expr(ExprOp::Tanh, {x}), large = b.expr(ExprOp::Add, {positive, b.number(1)});
  const std::map<ExprOp, int> domains{{ExprOp::Log, positive},   {ExprOp::Sqrt, positive},
                                      {ExprOp::Rsqrt, positive}, {ExprOp::Asin, small},
                                      {ExprOp::Acos, small},     {ExprOp::Reciprocal, positive},
                                      {ExprOp::Atanh, small},    {ExprOp::Acosh, large}};
  for (const ExprOp op : float_functions()) {
    const auto domain = domains.find(op);
    const DType result = op == ExprOp::IsNan ? DType::boolean : DType::f32;
    b.store(b.expr(op, {domain == domains.end() ? x : domain->second}, result),
            b.dense(result, {0, 1}, true));
  }
  for (const ExprOp op : {ExprOp::Div, ExprOp::Pow, ExprOp::Mod})
    b.store(b.expr(op, {y, positive}), b.dense(DType::f32, {0, 1}, true));
  return -1;
}

int integer_operators(ProblemBuilder& b, DType dtype) {
  const int x = b.load(b.dense(dtype, {0, 1})), y = b.load(b.dense(dtype, {1}));
  for (const ExprOp op : {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Div, ExprOp::Mod,
                          ExprOp::Pow, ExprOp::Max, ExprOp::Min, ExprOp::And, ExprOp::Or})
    b.store(b.expr(op, {x, y}, dtype), b.dense(dtype, {0, 1}, true));
  for (const ExprOp op : {ExprOp::Neg, ExprOp::Abs, ExprOp::Sign, ExprOp::Relu})
    b.store(b.expr(op, {x}, dtype), b.dense(dtype, {0, 1}, true));
  const int less = b.expr(ExprOp::Less, {x, y}, DType::boolean),
            equal = b.expr(ExprOp::Equal, {x, y}, DType::boolean);
  b.store(b.expr(ExprOp::Or, {less, b.expr(ExprOp::Not, {equal}, DType::boolean)}, DType::boolean),
          b.dense(DType::boolean, {0, 1}, true));
  return -1;
}

int casts(ProblemBuilder& b) {
  constexpr DType dtypes[] = {DType::f32, DType::i32, DType::i64, DType::boolean};
  for (const DType from : dtypes) {
    const int x = b.load(b.dense(from, {0, 1}));
    for (const DType to : dtypes) b.store(b.expr(ExprOp::Cast, {x}, to), b.dense(to, {0, 1}, true));
  }
  return -1;
}

/// Two reductions of each row in one sweep, and elements that are read with gaps.
int strided_rows(ProblemBuilder& b) {
  const graph::Dim gap = b.symbol(3), row = b.symbol(3 * b.extents[1] + 5);
  const int x = b.load(b.operand(DType::f32, {row, gap}, b.extents[0] * (3 * b.extents[1] + 5)));
  b.store(b.expr(ExprOp::ReduceSum, {x}), b.dense(DType::f32, {0}, true));
  b.store(b.expr(ExprOp::ReduceMax, {x}), b.dense(DType::f32, {0}, true));
  return -1;
}

int conditions_of_rows(ProblemBuilder& b) {
  const int x = b.load(b.dense(DType::boolean, {0, 1}));
  b.store(b.expr(ExprOp::ReduceMax, {x}, DType::boolean), b.dense(DType::boolean, {0}, true));
  b.store(b.expr(ExprOp::ReduceMin, {x}, DType::boolean), b.dense(DType::boolean, {0}, true));
  return -1;
}

/// Windows of 3 x 3 around each place of an image of `outer` x 5 places, channels last, in the
/// middle of their padding.
int windows(ProblemBuilder& b) {
  const int row = 0, channel = 1, column = b.axis(5), i = b.axis(3, reduction),
            j = b.axis(3, reduction);
  const graph::Dim channels = b.problem.axes[channel].extent,
                   line = channels * b.problem.axes[static_cast<std::size_t>(column)].extent;
  const int x = b.operand(DType::f32, {line, b.constant(1), channels, line, channels},
                          b.extents[0] * 5 * b.extents[1]);
  rkernel::Operand& operand = b.problem.operands.back();
  operand.offset = b.constant(0) - line - channels;
  for (const auto& [place, tap] : {std::pair{row, i}, {column, j}}) {
    const graph::Dim extent = b.problem.axes[static_cast<std::size_t>(place)].extent;
    operand.guards.push_back(
        {{{place, b.constant(1)}, {tap, b.constant(1)}}, b.constant(1), extent + 1});
  }
  return x;
}

int depthwise(ProblemBuilder& b) {
  const int x = b.load(windows(b)), weight = b.load(b.dense(DType::f32, {3, 4, 1}));
  const int sum = b.expr(ExprOp::ReduceSum, {b.expr(ExprOp::Mul, {x, weight})});
  b.store(b.expr(ExprOp::Relu, {sum}), b.dense(DType::f32, {0, 2, 1}, true));
  return -1;
}

int max_pool(ProblemBuilder& b) {
  const int x = windows(b);
  b.problem.operands.back().fill = -std::numeric_limits<double>::infinity();
  b.store(b.expr(ExprOp::ReduceMax, {b.load(x)}), b.dense(DType::f32, {0, 2, 1}, true));
  return -1;
}

int sum_of_two(ProblemBuilder& b, DType dtype) {
  const int x = b.load(b.dense(dtype, {0, 1})), y = b.load(b.dense(dtype, {0, 1})),
            bias = b.load(b.dense(dtype, {1})), scale = b.load(b.dense(dtype, {0}));
  const DType computed = dtype == DType::i64 ? dtype : DType::f32;
  const int sum = b.expr(ExprOp::Add, {b.expr(ExprOp::Add, {x, y}, computed), bias}, computed);
  b.store(b.expr(ExprOp::Mul, {sum, scale}, computed), b.dense(dtype, {0, 1}, true));
  return -1;
}

int gelu(ProblemBuilder& b) {
  const int x = b.load(b.dense(DType::f32, {0, 1}));
  const int erf = b.expr(ExprOp::Erf, {b.expr(ExprOp::Mul, {x, b.number(0.70710678)})});
  const int half = b.expr(ExprOp::Mul, {x, b.number(0.5)});
  b.store(b.expr(ExprOp::Mul, {half, b.expr(ExprOp::Add, {erf, b.number(1)})}),
          b.dense(DType::f32, {0, 1}, true));
  return -1;
}

int silu(ProblemBuilder& b) {
  const int x = b.load(b.dense(DType::f32, {0, 1}));
  b.store(b.expr(ExprOp::Mul, {x, b.expr(ExprOp::Sigmoid, {x})}),
          b.dense(DType::f32, {0, 1}, true));
  return -1;
}

int transpose(ProblemBuilder& b, DType dtype) {
  b.store(b.load(b.dense(dtype, {1, 0})), b.dense(dtype, {0, 1}, true));
  return -1;
}

/// Operands along the lanes, across them, and of rows and columns; two stores.
int sum_across(ProblemBuilder& b) {
  const int x = b.load(b.dense(DType::f32, {0, 1})), y = b.load(b.dense(DType::f16, {1, 0})),
            z = b.load(b.dense(DType::f32, {1, 0})), bias = b.load(b.dense(DType::f32, {1})),
            scale = b.load(b.dense(DType::f32, {0}));
  const int sum = b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {x, y}), bias});
  b.store(sum, b.dense(DType::f32, {0, 1}, true));
  b.store(b.expr(ExprOp::Mul, {b.expr(ExprOp::Sub, {sum, z}), scale}),
          b.dense(DType::bf16, {0, 1}, true));
  return -1;
}

/// A batch of transpositions: [b, k, m] -> [b, m, k].
int batched_transpose(ProblemBuilder& b) {
  const int batch = b.axis(3);
  b.store(b.load(b.dense(DType::f32, {batch, 1, 0})), b.dense(DType::f32, {batch, 0, 1}, true));
  return -1;
}

std::vector<LoopCase> make_cases() {
  return {
      {"softmax", {parallel, reduction}, 2, plain(testing::softmax)},
      {"softmax of 16-bit floats", {parallel, reduction}, 2, narrow_softmax},
      {"layer norm", {parallel, reduction}, 2, plain(testing::layer_norm)},
      {"strided rows", {parallel, reduction}, 2, strided_rows},
      {"conditions of rows", {parallel, reduction}, 2, conditions_of_rows},
      {"element-wise", {parallel, parallel}, 2, plain(testing::element_wise)},
      {"outer mean",
       {parallel, reduction},
       2,
       [](ProblemBuilder& b) {
         b.problem.lane_axis = 0;
         return plain(testing::outer_mean)(b);
       }},
      {"totals of f32",
       {reduction, reduction},
       2,
       [](ProblemBuilder& b) {
         testing::totals(b, DType::f32);
         return -1;
       }},
      {"totals of i32",
       {reduction, reduction},
       2,
       [](ProblemBuilder& b) {
         testing::totals(b, DType::i32);
         return -1;
       }},
      {"totals of i64",
       {reduction, reduction},
       2,
       [](ProblemBuilder& b) {
         testing::totals(b, DType::i64);
         return -1;
       }},
      {"padded columns",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) {
         testing::pad(b, 1, DType::f32);
         return -1;
       }},
      {"padded rows of f16",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) {
         testing::pad(b, 0, DType::f16);
         return -1;
       }},
      {"embedding",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return testing::embedding(b, 7); }},
      {"lookup", {parallel, parallel}, 1, [](ProblemBuilder& b) { return testing::lookup(b, 7); }},
      {"float operators", {parallel, parallel}, 2, float_operators},
      {"i32 operators",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return integer_operators(b, DType::i32); }},
      {"i64 operators",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return integer_operators(b, DType::i64); }},
      {"casts", {parallel, parallel}, 2, casts},
      {"depthwise", {parallel, parallel}, 2, depthwise},
      {"max pool", {parallel, parallel}, 2, max_pool},
      {"gelu", {parallel, parallel}, 2, gelu},
      {"silu", {parallel, parallel}, 2, silu},
      {"transpose",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return transpose(b, DType::f32); }},
      {"transpose of i64",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return transpose(b, DType::i64); }},
      {"transpose of bf16",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return transpose(b, DType::bf16); }},
      {"transpose of bool",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return transpose(b, DType::boolean); }},
      {"batched transpose", {parallel, parallel}, 2, batched_transpose},
      {"sum across", {parallel, parallel}, 2, sum_across},
      {"sum of f32",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return sum_of_two(b, DType::f32); }},
      {"sum of bf16",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return sum_of_two(b, DType::bf16); }},
      {"sum of f16",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return sum_of_two(b, DType::f16); }},
      {"sum of i64",
       {parallel, parallel},
       2,
       [](ProblemBuilder& b) { return sum_of_two(b, DType::i64); }},
  };
}

}  // namespace

const LoopCase& find_case(const std::string& name) {
  for (const LoopCase& loop_case : loop_cases())
    if (loop_case.name == name) return loop_case;
  throw std::out_of_range(name);
}

const std::vector<LoopCase>& loop_cases() {
  static const std::vector<LoopCase> cases = make_cases();
  return cases;
}

std::unique_ptr<ProblemBuilder> build(const LoopCase& loop_case, std::int64_t outer,
                                      std::int64_t inner, int* indices) {
  auto builder = std::make_unique<ProblemBuilder>(loop_case.name);
  if (loop_case.axes == 2) builder->axis(outer, loop_case.kinds[0]);
  builder->axis(inner, loop_case.kinds[1]);
  builder->problem.lane_axis = loop_case.axes - 1;
  const int operand = loop_case.write(*builder);
  if (indices != nullptr) *indices = operand;
  return builder;
}

}  // namespace dyn::test
