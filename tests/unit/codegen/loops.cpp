// Loop kernels as models have them: softmax, layer norm, gathers, padding, reductions, at awkward sizes.

#include <doctest/doctest.h>

#include "tests/support/round_machine.hpp"
#include "tests/unit/codegen/loop_fixture.hpp"

using namespace dyn::testing;
using dyn::DType;
using dyn::rkernel::AxisKind;
using dyn::rkernel::ExprOp;

namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 37, 63, 64, 65, 127, 129, 500};

/// softmax(x * 0.5 + mask) over the last axis; mask: [rows % 2, columns].
void softmax(ProblemBuilder& b) {
  const int row = 0, column = 1;
  const int x = b.dense(DType::f32, {row, column});
  const int mask = b.dense(DType::f32, {column});
  const int out = b.dense(DType::f32, {row, column}, true);
  const int scaled = b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {b.load(x), b.number(0.5)}), b.load(mask)});
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

template <class Body>
void at_all_sizes(const char* name, AxisKind column_kind, const Body& body) {
  unsigned seed = 1;
  for (const std::int64_t columns : sizes)
    for (const std::int64_t rows : {0, 1, 5}) {
      ProblemBuilder b(name);
      b.axis(rows);
      b.axis(columns, column_kind);
      b.problem.lane_axis = 1;
      body(b);
      check_problem(b, seed, 1e-5);
      check_problem(b, seed++, 1e-5, true);
    }
}

}  // namespace

TEST_CASE("softmax") { at_all_sizes("softmax", AxisKind::Reduction, softmax); }

TEST_CASE("layer norm") { at_all_sizes("layer_norm", AxisKind::Reduction, layer_norm); }

TEST_CASE("element-wise with broadcasts along rows and lanes") {
  at_all_sizes("element-wise", AxisKind::Parallel, [](ProblemBuilder& b) {
    const int x = b.dense(DType::f32, {0, 1}), bias = b.dense(DType::f32, {1}), scale = b.dense(DType::f32, {0});
    const int turned = b.dense(DType::f32, {1, 0}), flag = b.dense(DType::boolean, {0, 1});
    const int out = b.dense(DType::f32, {0, 1}, true), transposed = b.dense(DType::f32, {1, 0}, true);
    const int negative = b.dense(DType::boolean, {0, 1}, true), position = b.dense(DType::i64, {0, 1}, true);
    const int sum = b.expr(ExprOp::Add, {b.expr(ExprOp::Mul, {b.load(x), b.load(scale)}), b.load(bias)});
    const int half = b.expr(ExprOp::Mul, {sum, b.number(0.70710678)});
    const int gelu = b.expr(ExprOp::Mul, {sum, b.expr(ExprOp::Add, {b.expr(ExprOp::Erf, {half}), b.number(1)})});
    b.store(b.expr(ExprOp::Select, {b.load(flag), gelu, b.load(turned)}), out);
    b.store(sum, transposed);
    b.store(b.expr(ExprOp::Less, {b.load(x), b.number(0)}, DType::boolean), negative);
    const int columns_before = b.expr(ExprOp::Mul, {b.index(1), b.dim(b.problem.axes[0].extent)}, DType::i64);
    b.store(b.expr(ExprOp::Add, {b.index(0), columns_before}, DType::i64), position);
  });
}

TEST_CASE("reduction of the outer axis with lanes along the inner one") {
  unsigned seed = 1;
  for (const std::int64_t columns : sizes)
    for (const std::int64_t rows : {0, 1, 5, 40}) {
      ProblemBuilder b("outer mean");
      b.axis(columns);
      b.axis(rows, AxisKind::Reduction);
      const int x = b.dense(DType::f32, {1, 0}), out = b.dense(DType::f32, {0}, true), most = b.dense(DType::f32, {0}, true);
      const int centred = b.dense(DType::f32, {1, 0}, true);
      const int sum = b.expr(ExprOp::ReduceSum, {b.load(x)});
      const int mean = b.expr(ExprOp::Div, {sum, b.expr(ExprOp::Cast, {b.dim(b.problem.axes[1].extent)})});
      b.store(mean, out);
      b.store(b.expr(ExprOp::ReduceMax, {b.load(x)}), most);
      b.store(b.expr(ExprOp::Sub, {b.load(x), mean}), centred);
      check_problem(b, seed, 1e-5);
      check_problem(b, seed++, 1e-5, true);
    }
}

TEST_CASE("all reductions of all dtypes, several axes, nothing parallel") {
  unsigned seed = 1;
  for (const std::int64_t inner : sizes)
    for (const std::int64_t outer : {0, 1, 3})
      for (const DType dtype : {DType::f32, DType::i32, DType::i64}) {
        ProblemBuilder b("total");
        b.axis(outer, AxisKind::Reduction);
        b.axis(inner, AxisKind::Reduction);
        b.problem.lane_axis = 1;
        const int x = b.dense(dtype, {0, 1});
        for (const ExprOp op : {ExprOp::ReduceSum, ExprOp::ReduceMax, ExprOp::ReduceMin})
          b.store(b.expr(op, {b.load(x)}, dtype), b.dense(dtype, {}, true));
        check_problem(b, seed++, 1e-5);
      }
}

TEST_CASE("gather of rows, by an index that is uniform along the lanes") {
  for (const std::int64_t columns : sizes) {
    ProblemBuilder b("embedding");
    b.axis(5);
    b.axis(columns);
    b.problem.lane_axis = 1;
    const int ids = b.dense(DType::i64, {0});
    const int table = b.operand(DType::f32, {b.constant(0), b.constant(1)}, 7 * columns);
    auto& operand = b.problem.operands.back();
    operand.gathers = true;
    operand.gather_extent = b.symbol(7);
    operand.gather_stride = b.problem.axes[1].extent;
    const int out = b.dense(DType::f32, {0, 1}, true);
    b.store(b.load(table, b.load(ids)), out);
    check_problem(b, 3, 1e-6, false, {{ids, bytes_of(std::vector<std::int64_t>{0, 6, -1, -7, 3})}});

    for (const std::int64_t bad : {std::int64_t{7}, std::int64_t{-8}, std::int64_t{1} << 62}) {
      std::vector<std::vector<std::uint8_t>> initial = {bytes_of(std::vector<std::int64_t>{0, 6, bad, -7, 3}),
                                                        std::vector<std::uint8_t>(static_cast<std::size_t>(7 * columns) * 4),
                                                        std::vector<std::uint8_t>(static_cast<std::size_t>(5 * columns) * 4)};
      for (const auto& isa : dyn::cpu::all_isas())
        if (dyn::cpu::cpu_has(isa) && columns > 0) CHECK(run_loop_kernel(b, isa, initial).status == 1);
    }
  }
}

TEST_CASE("gather along the lanes, also from a table without rows") {
  for (const std::int64_t count : sizes)
    for (const std::int64_t extent : {0, 4}) {
      ProblemBuilder b("lookup");
      b.axis(count);
      const int ids = b.dense(DType::i64, {0});
      const int table = b.operand(DType::f32, {b.constant(0)}, extent);
      auto& operand = b.problem.operands.back();
      operand.gathers = true;
      operand.gather_extent = b.symbol(extent);
      operand.gather_stride = b.constant(1);
      b.store(b.load(table, b.load(ids)), b.dense(DType::f32, {0}, true));
      std::vector<std::int64_t> good(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < good.size(); ++i) good[i] = static_cast<std::int64_t>(i % 8) - 4;
      if (extent > 0) {
        check_problem(b, 3, 1e-6, false, {{ids, bytes_of(good)}});
        if (count > 0) good.back() = extent;
      }
      std::vector<std::vector<std::uint8_t>> initial = {bytes_of(good),
                                                        std::vector<std::uint8_t>(static_cast<std::size_t>(extent) * 4),
                                                        std::vector<std::uint8_t>(static_cast<std::size_t>(count) * 4)};
      for (const auto& isa : dyn::cpu::all_isas())
        if (dyn::cpu::cpu_has(isa)) CHECK(run_loop_kernel(b, isa, initial).status == (count > 0 ? 1 : 0));
    }
}

TEST_CASE("padding and concatenation read nothing outside their guards") {
  unsigned seed = 1;
  for (const std::int64_t columns : sizes)
    for (const int guarded : {0, 1}) {
      ProblemBuilder b("pad");
      b.axis(6);
      b.axis(columns);
      b.problem.lane_axis = 1;
      const std::int64_t extent = b.extents[static_cast<std::size_t>(guarded)];
      const std::int64_t low = extent / 3, high = extent - extent / 4;
      std::vector<dyn::graph::Dim> strides;
      std::int64_t shape[2] = {6, columns};
      shape[guarded] = high - low;
      strides = {b.symbol(shape[1]), b.constant(1)};
      const int x = b.operand(DType::f32, strides, shape[0] * shape[1]);
      auto& operand = b.problem.operands.back();
      operand.offset = b.constant(0) - b.symbol(low) * strides[static_cast<std::size_t>(guarded)];
      operand.guards.push_back({guarded, b.symbol(low), b.symbol(high)});
      operand.fill = 2.5;
      const int column = b.dense(DType::i32, {1});
      b.store(b.load(x), b.dense(DType::f32, {0, 1}, true));
      b.store(b.load(column), b.dense(DType::i32, {1, 0}, true));
      check_problem(b, seed++, 1e-6);
    }
}

TEST_CASE("layer norms of one structure share one class, whatever their names and sizes") {
  const auto sources = [](std::int64_t columns, const char* name) {
    ProblemBuilder b(name);
    b.axis(2);
    b.axis(columns, AxisKind::Reduction);
    b.problem.lane_axis = 1;
    layer_norm(b);
    return dyn::cpu::LoopKernel::create(b.problem, dyn::cpu::all_isas().back(), std::make_shared<dyn::rkernel::Machine>(round_machine()))->sources();
  };
  const auto a = sources(768, "first"), c = sources(72, "second");
  REQUIRE(a.size() == c.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].key == c[i].key);
}
