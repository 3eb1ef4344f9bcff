// Reductions that are cut in slices, and those just too small for it.

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "targets/llvm/jit/isa.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/loop/fixture.hpp"

namespace {

using dyn::DType;
using dyn::rkernel::AxisKind;
using dyn::rkernel::ExprOp;
using dyn::testing::check_problem;
using dyn::testing::ProblemBuilder;

constexpr AxisKind kept = AxisKind::Parallel, reduced = AxisKind::Reduction;

struct Axis {
  std::int64_t extent;
  AxisKind kind;
};

/// x over all axes; lanes along the last one in memory.
struct Reductions {
  explicit Reductions(const std::string& name, const std::vector<Axis>& in_memory,
                      DType dtype = DType::f32)
      : b(name), dtype(dtype) {
    std::vector<int> order;
    for (const AxisKind kind : {kept, reduced})
      for (std::size_t i = 0; i < in_memory.size(); ++i) {
        if (in_memory[i].kind != kind) continue;
        order.resize(in_memory.size());
        order[i] = b.axis(in_memory[i].extent, kind);
        if (kind == kept) left.push_back(order[i]);
      }
    b.problem.lane_axis = order.back();
    x = b.load(b.dense(dtype, order));
    b.problem.exprs[static_cast<std::size_t>(x)].dtype = dtype;
  }

  int reduce(ExprOp op, int value) { return b.expr(op, {value}, dtype); }
  void store(int value) { b.store(value, b.dense(dtype, left, true)); }

  ProblemBuilder b;
  DType dtype;
  int x = 0;
  std::vector<int> left;
};

/// Sum, mean of absolute values, largest and least element, and a product near 1. The sum's terms
/// have a mean: a sum of 100,000 terms that cancel may be less than its rounding.
void all_of_f32(Reductions& r) {
  ProblemBuilder& b = r.b;
  r.store(r.reduce(ExprOp::ReduceSum, b.expr(ExprOp::Add, {r.x, b.number(0.5)})));
  r.store(b.expr(ExprOp::Mul,
                 {r.reduce(ExprOp::ReduceSum, b.expr(ExprOp::Abs, {r.x})), b.number(1.0 / 1024)}));
  r.store(r.reduce(ExprOp::ReduceMax, r.x));
  r.store(r.reduce(ExprOp::ReduceMin, r.x));
  r.store(r.reduce(ExprOp::ReduceProd,
                   b.expr(ExprOp::Exp, {b.expr(ExprOp::Mul, {r.x, b.number(1e-3)})})));
}

bool is_cut(const ProblemBuilder& builder) {
  const auto contents = dyn::testing::random_contents(builder, 1, false);
  return dyn::testing::run_loop_kernel(builder, dyn::codegen::select_isa(""), contents).merged;
}

struct Case {
  std::vector<Axis> axes;
  bool cut;
};

void check_cases(const std::vector<Case>& cases) {
  unsigned seed = 900;
  for (const Case& c : cases) {
    Reductions r("slices", c.axes);
    all_of_f32(r);
    CAPTURE(r.b.extents);
    CHECK(is_cut(r.b) == c.cut);
    check_problem(r.b, seed++, 1e-4);
  }
}

}  // namespace

TEST_CASE("reductions around the sizes from which on they are cut in slices") {
  check_cases({
      {{{262143, reduced}}, false},
      {{{262144, reduced}}, true},
      {{{262177, reduced}}, true},
      {{{3, reduced}, {2, kept}, {100001, reduced}}, true},
      {{{2, reduced}, {1, kept}, {270003, reduced}}, true},
      {{{2017, reduced}, {130, kept}}, false},
      {{{2018, reduced}, {130, kept}}, true},
      {{{8003, reduced}, {33, kept}}, true},
      {{{2, reduced}, {1, kept}, {2501, reduced}, {131, kept}}, true},
      {{{3, reduced}, {2, kept}, {701, reduced}, {131, kept}}, true},
      {{{512, reduced}, {400, kept}}, false},
      {{{0, reduced}, {131, kept}}, false},
      {{{0, kept}, {300000, reduced}}, false},
      {{{6000, reduced}, {0, kept}}, false},
  });
}

TEST_SUITE("full") {
  TEST_CASE("slices of wide lanes, of more than one ticket's, and of as many rows as are cut") {
    check_cases({{{{1312, reduced}, {400, kept}}, true}, {{{513, reduced}, {4100, kept}}, true}});
    for (const std::int64_t rows : {32, 33}) {
      Reductions r("rows", {{rows, kept}, {262144, reduced}});
      all_of_f32(r);
      CHECK(is_cut(r.b) == (rows == 32));
    }
  }
}

TEST_CASE("slices of integers and booleans") {
  unsigned seed = 950;
  for (const DType dtype : {DType::i32, DType::i64, DType::boolean})
    for (const std::vector<Axis>& axes :
         {std::vector<Axis>{{270001, reduced}}, std::vector<Axis>{{4234, reduced}, {67, kept}}}) {
      Reductions r("integer_slices", axes, dtype);
      r.store(r.reduce(ExprOp::ReduceMax, r.x));
      r.store(r.reduce(ExprOp::ReduceMin, r.x));
      if (dtype != DType::boolean) r.store(r.reduce(ExprOp::ReduceSum, r.x));
      CHECK(is_cut(r.b));
      check_problem(r.b, seed++);
    }
}

TEST_CASE("NaN and infinities in one slice alone") {
  for (const std::vector<Axis>& axes :
       {std::vector<Axis>{{300000, reduced}}, std::vector<Axis>{{3000, reduced}, {100, kept}}})
    for (const float special :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()})
      for (const std::size_t place : {0, 149999, 299999}) {
        Reductions r("special", axes);
        all_of_f32(r);
        std::vector<float> values(300000);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8;
        values[place] = special;
        check_problem(r.b, 5, 1e-4, false,
                      {{r.b.problem.exprs[static_cast<std::size_t>(r.x)].operand,
                        dyn::testing::bytes_of(values)}});
      }
}

TEST_CASE("results of slices and operands that do not vary along them") {
  // The sum of x + bias[lane] * y[row], times y[row], which the second stage reads as well, and
  // times a sum that is the same for all results.
  for (const bool lanes_kept : {false, true}) {
    Reductions r("with_operands", lanes_kept
                                      ? std::vector<Axis>{{4400, reduced}, {2, kept}, {65, kept}}
                                      : std::vector<Axis>{{3, kept}, {270000, reduced}});
    ProblemBuilder& b = r.b;
    const int y = b.load(b.dense(DType::f32, {r.left.front()})),
              bias = b.load(b.dense(DType::f32, {b.problem.lane_axis}));
    const int sum =
        r.reduce(ExprOp::ReduceSum, b.expr(ExprOp::Add, {r.x, b.expr(ExprOp::Mul, {bias, y})}));
    const int outermost_reduced = static_cast<int>(r.left.size());
    const int common =
        r.reduce(ExprOp::ReduceMax, b.load(b.dense(DType::f32, {outermost_reduced})));
    r.store(b.expr(ExprOp::Mul, {b.expr(ExprOp::Mul, {sum, y}), common}));
    CHECK(is_cut(b));
    check_problem(b, 77);
  }
}

TEST_CASE("random reductions, cut or not") {
  const auto seed = static_cast<unsigned>(dyn::testing::test_seed());
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 10; ++i) {
    std::vector<Axis> axes;
    const bool lanes_kept = between(0, 1) == 1;
    if (between(0, 2) == 0) axes.push_back({between(1, 2), kept});
    axes.push_back({lanes_kept ? between(500, 6000) : between(1, 4), reduced});
    if (between(0, 2) == 0) axes.push_back({between(1, 2), kept});
    axes.push_back(lanes_kept ? Axis{between(1, 140), kept}
                              : Axis{between(60000, 140000), reduced});
    Reductions r("random_slices", axes);
    all_of_f32(r);
    check_problem(r.b, seed + static_cast<unsigned>(i), 1e-4);
  }
}
