// Paths of loop kernels that depend on sizes: transposed blocks, streams, segments between borders,
// rows that are added at once.

#include <doctest/doctest.h>

#include "targets/cpu/loop/cost.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/unit/cpu/loop/fixture.hpp"

namespace {

using dyn::DType;
using dyn::rkernel::AxisKind;
using dyn::rkernel::ExprOp;
using dyn::rkernel::range_of;
using dyn::testing::check_problem;
using dyn::testing::ProblemBuilder;

const std::vector<DType> element_types = {DType::f32, DType::i64, DType::boolean, DType::f16};

DType in_registers(DType dtype) { return dtype == DType::f16 ? DType::f32 : dtype; }

/// out[o, j, i] = in[o, i, j], the input `pad` elements wider than it need be, so that rows begin
/// anywhere.
void transposition(ProblemBuilder& b, std::int64_t outer, std::int64_t rows, std::int64_t columns,
                   std::int64_t pad, DType dtype, bool sum) {
  const int o = b.axis(outer), j = b.axis(columns), i = b.axis(rows);
  const auto width = b.symbol(columns + pad), height = b.symbol(rows);
  const auto one = b.constant(1);
  const int in = b.operand(dtype, {width * height, one, width}, outer * rows * (columns + pad));
  b.problem.operands[static_cast<std::size_t>(in)].dtype = dtype;
  int value = b.load(in);
  b.problem.exprs[static_cast<std::size_t>(value)].dtype = in_registers(dtype);
  if (sum) value = b.expr(ExprOp::Add, {value, b.load(b.dense(DType::f32, {o, j, i}))});
  b.store(value, b.dense(dtype, {o, j, i}, true));
  b.problem.lane_axis = i;
}

/// out[o, i, c] = in[o, c, i] for `few` c, with lanes along i; `apart`: the other way round.
void interleaving(ProblemBuilder& b, std::int64_t outer, std::int64_t few, std::int64_t count,
                  bool apart, DType dtype) {
  b.axis(outer), b.axis(few);
  const int i = b.axis(count);
  const auto one = b.constant(1), apart_by = b.constant(few), columns = b.symbol(count),
             row = b.symbol(few * count);
  const std::vector<dyn::graph::Dim> parts{row, columns, one}, mixed{row, one, apart_by};
  const std::int64_t elements = outer * few * count;
  const int in = b.operand(dtype, apart ? mixed : parts, elements),
            out = b.operand(dtype, apart ? parts : mixed, elements, true);
  const int value = b.load(in);
  const DType computed = in_registers(dtype);
  b.problem.exprs[static_cast<std::size_t>(value)].dtype = computed;
  b.store(b.expr(ExprOp::Neg, {value}, computed), out);
  b.problem.lane_axis = i;
}

/// out[o, j, i] = in[o, i - before, j], and 0 where the input has no such row.
void padded_transposition(ProblemBuilder& b, std::int64_t rows, std::int64_t columns,
                          std::int64_t before, std::int64_t after, DType dtype) {
  constexpr std::int64_t outer = 2;
  const int o = b.axis(outer), j = b.axis(columns), i = b.axis(before + rows + after);
  const auto width = b.symbol(columns), height = b.symbol(rows), first = b.symbol(before);
  const int in = b.operand(dtype, {width * height, b.constant(1), width}, outer * rows * columns);
  dyn::rkernel::Operand& operand = b.problem.operands[static_cast<std::size_t>(in)];
  operand.offset = b.constant(0) - first * width;
  operand.guards = {dyn::rkernel::range_of(i, first, first + height)};
  const int value = b.load(in);
  b.problem.exprs[static_cast<std::size_t>(value)].dtype = in_registers(dtype);
  b.store(value, b.dense(dtype, {o, j, i}, true));
  b.problem.lane_axis = i;
}

/// out[o, i] = the sum over c of in[o, i, c] * in[o, i, c].
void magnitudes(ProblemBuilder& b, std::int64_t outer, std::int64_t few, std::int64_t count) {
  const int o = b.axis(outer), i = b.axis(count);
  b.axis(few, AxisKind::Reduction);
  const int in = b.operand(DType::f32, {b.symbol(few * count), b.constant(few), b.constant(1)},
                           outer * few * count);
  const int value = b.load(in);
  b.store(b.expr(ExprOp::ReduceSum, {b.expr(ExprOp::Mul, {value, value})}),
          b.dense(DType::f32, {o, i}, true));
  b.problem.lane_axis = i;
}

/// out[o, w, l] = the sum over r of a[2 o + r - 2, w, l] * b[w + r], without rows that a does not
/// have.
void two_kinds_of_windows(ProblemBuilder& b, std::int64_t outer, std::int64_t windows,
                          std::int64_t lanes, std::int64_t rows, std::int64_t taps) {
  const int o = b.axis(outer), w = b.axis(windows), l = b.axis(lanes),
            r = b.axis(taps, AxisKind::Reduction);
  b.problem.axes[static_cast<std::size_t>(r)].extent = b.constant(taps);
  b.problem.lane_axis = l;
  const auto zero = b.constant(0), one = b.constant(1), two = b.constant(2), line = b.symbol(lanes),
             row = b.symbol(windows * lanes), end = b.symbol(rows);
  const int guarded = b.operand(DType::f32, {row * two, line, one, row}, rows * windows * lanes);
  dyn::rkernel::Operand& operand = b.problem.operands[static_cast<std::size_t>(guarded)];
  operand.absent_outside = true;
  operand.offset = zero - row * two;
  operand.guards = {{{{o, two}, {r, one}}, two, end + two}};
  const int sliding = b.operand(DType::f32, {zero, one, zero, one}, windows + taps - 1);
  const int product = b.expr(ExprOp::Mul, {b.load(guarded), b.load(sliding)});
  b.store(b.expr(ExprOp::ReduceSum, {product}), b.dense(DType::f32, {o, w, l}, true));
}

/// out[w, l] = the sum over r of a[w + r - 1] * b[r, l], without elements that a does not have:
/// what slides is the same for all lanes.
void windows_of_all_lanes(ProblemBuilder& b, std::int64_t windows, std::int64_t lanes,
                          std::int64_t taps) {
  const int w = b.axis(windows), l = b.axis(lanes), r = b.axis(taps, AxisKind::Reduction);
  b.problem.axes[static_cast<std::size_t>(r)].extent = b.constant(taps);
  b.problem.lane_axis = l;
  const auto one = b.constant(1), row = b.symbol(lanes), end = b.symbol(windows);
  const int sliding = b.operand(DType::f32, {one, b.constant(0), one}, windows);
  dyn::rkernel::Operand& operand = b.problem.operands[static_cast<std::size_t>(sliding)];
  operand.absent_outside = true;
  operand.offset = b.constant(-1);
  operand.guards = {{{{w, one}, {r, one}}, one, end + one}};
  const int weights = b.operand(DType::f32, {b.constant(0), one, row}, taps * lanes);
  const int product = b.expr(ExprOp::Mul, {b.load(sliding), b.load(weights)});
  b.store(b.expr(ExprOp::ReduceSum, {product}), b.dense(DType::f32, {w, l}, true));
}

}  // namespace

TEST_CASE("windows that all lanes share, around whole blocks of them") {
  unsigned seed = 730;
  for (const std::int64_t taps : {2, 3, 5})
    for (const std::int64_t windows : {1, 3, 4, 5, 9})
      for (const std::int64_t lanes : {1, 37, 64}) {
        ProblemBuilder b("windows_of_all_lanes");
        windows_of_all_lanes(b, windows, lanes, taps);
        check_problem(b, seed++);
      }
}

TEST_CASE("windows slide over one factor where a guard bounds the other one's elements") {
  unsigned seed = 700;
  for (const std::int64_t taps : {2, 3, 5})
    for (const std::int64_t windows : {1, 4, 9})
      for (const std::int64_t rows : {1, 4, 7}) {
        ProblemBuilder b("two_kinds_of_windows");
        two_kinds_of_windows(b, 4, windows, 37, rows, taps);
        check_problem(b, seed++);
      }
}

TEST_CASE("threads take whole lines where lanes are stored apart") {
  const dyn::codegen::Isa isa = dyn::codegen::select_isa("");
  for (const std::int64_t few : {2, 3, 4})
    for (const std::int64_t count : {5000, 50177}) {
      CAPTURE(few);
      CAPTURE(count);
      ProblemBuilder b("interleaving");
      interleaving(b, 7, few, count, false, DType::f32);
      const dyn::cpu::LoopProblem loop(b.problem, isa);
      const auto cost =
          dyn::cpu::loop_cost(loop, dyn::cpu::loop_classes(loop).front(),
                              loop.slots.evaluate(b.values), dyn::testing::round_machine(), 4);
      REQUIRE(cost.threads > 1);
      CHECK(cost.grain < cost.tickets);
      CHECK(cost.grain % few == 0);
    }
}

TEST_CASE("elements that lie two, three or four apart, read and written, around whole vectors") {
  unsigned seed = 300;
  for (const std::int64_t few : {2, 3, 4}) {
    for (const std::int64_t count : {0, 1, 2, 5, 7, 8, 9, 15, 16, 17, 33, 64, 100, 1030}) {
      CAPTURE(few);
      CAPTURE(count);
      for (const bool apart : {false, true}) {
        ProblemBuilder floats("interleaving"), integers("interleaving");
        interleaving(floats, 3, few, count, apart, DType::f32);
        interleaving(integers, 1, few, count, apart, DType::i32);
        check_problem(floats, seed, 0, seed % 2 == 0);
        check_problem(integers, seed + 1, 0);
        ProblemBuilder narrow("interleaving");
        interleaving(narrow, 2, few, count, apart, seed % 4 < 2 ? DType::i8 : DType::f16);
        check_problem(narrow, seed, 0);
        seed += 2;
      }
      ProblemBuilder sums("magnitudes");
      magnitudes(sums, 2, few, count);
      check_problem(sums, seed++);
    }
  }
}

TEST_CASE("transposed blocks of every size of element, around the sizes of tiles") {
  unsigned seed = 100;
  for (const std::int64_t rows : {0, 1, 3, 15, 16, 17, 33, 65})
    for (const std::int64_t columns : {1, 2, 16, 31, 66}) {
      ProblemBuilder plain("transposition"), sum("transposed_sum");
      transposition(plain, 2, rows, columns, columns % 5,
                    element_types[seed % element_types.size()], false);
      transposition(sum, 2, rows, columns, 0, DType::f32, true);
      check_problem(plain, seed, 1e-4, seed % 2 == 0);
      check_problem(sum, seed + 1, 1e-4, true);
      seed += 3;
    }
}

TEST_CASE("transposed blocks of padded lanes") {
  unsigned seed = 500;
  for (const std::int64_t rows : {0, 1, 3, 13, 16, 33})
    for (const std::int64_t columns : {1, 16, 31, 66})
      for (const auto& [before, after] : {std::pair{0, 1}, {1, 0}, {5, 19}}) {
        ProblemBuilder b("padded_transposition");
        padded_transposition(b, rows, columns, before, after,
                             element_types[seed % element_types.size()]);
        check_problem(b, seed++);
      }
}

TEST_CASE("transposed blocks of more than one ticket") {
  ProblemBuilder b("transposition");
  transposition(b, 1, 1100, 70, 1, DType::f32, false);
  check_problem(b, 7);
}

TEST_CASE("streams begin at a line, wherever a row begins") {
  for (const std::int64_t columns : {256, 257, 300, 511, 1031}) {
    ProblemBuilder map("map"), two("two_outputs"), row("normalised_rows");
    const auto elements = [&](ProblemBuilder& b, AxisKind kind) {
      return std::pair{b.axis(5), b.axis(columns, kind)};
    };
    {
      const auto [rows, lanes] = elements(map, AxisKind::Parallel);
      const int x = map.load(map.dense(DType::f32, {rows, lanes})),
                bias = map.load(map.dense(DType::f32, {lanes}));
      map.store(map.expr(ExprOp::Add, {x, bias}), map.dense(DType::f32, {rows, lanes}, true));
      map.problem.lane_axis = lanes;
    }
    {
      const auto [rows, lanes] = elements(two, AxisKind::Parallel);
      const int x = two.load(two.dense(DType::f32, {rows, lanes}));
      two.store(two.expr(ExprOp::Neg, {x}), two.dense(DType::f32, {rows, lanes}, true));
      two.store(two.expr(ExprOp::IsNan, {x}, DType::boolean),
                two.dense(DType::boolean, {rows, lanes}, true));
      two.problem.lane_axis = lanes;
    }
    {
      const auto [rows, lanes] = elements(row, AxisKind::Reduction);
      const int x = row.load(row.dense(DType::f32, {rows, lanes}));
      const int power =
          row.expr(ExprOp::Exp, {row.expr(ExprOp::Sub, {x, row.expr(ExprOp::ReduceMax, {x})})});
      row.store(row.expr(ExprOp::Div, {power, row.expr(ExprOp::ReduceSum, {power})}),
                row.dense(DType::f32, {rows, lanes}, true));
      row.problem.lane_axis = lanes;
    }
    check_problem(map, 11, 1e-4, true);
    check_problem(two, 12, 1e-4, true);
    check_problem(row, 13);
  }
}

TEST_CASE("two parts of a row, and what neither has") {
  for (const std::int64_t first : {0, 1, 16, 63, 64, 130})
    for (const std::int64_t second : {1, 2, 65}) {
      ProblemBuilder b("concat");
      const int rows = b.axis(3), lanes = b.axis(first + second + 2);
      const auto one = b.constant(1), start = b.symbol(first), length = b.symbol(second);
      const int x = b.operand(DType::f32, {start, one}, 3 * first),
                y = b.operand(DType::f32, {length, one}, 3 * second);
      b.problem.operands[static_cast<std::size_t>(x)].guards = {
          range_of(lanes, b.constant(0), start)};
      b.problem.operands[static_cast<std::size_t>(y)].guards = {
          range_of(lanes, start, start + length)};
      b.problem.operands[static_cast<std::size_t>(y)].offset = start * -1;
      b.problem.operands[static_cast<std::size_t>(y)].fill = 2.5;
      const int before = b.expr(ExprOp::Less, {b.index(lanes), b.dim(start)}, DType::boolean);
      b.store(b.expr(ExprOp::Select, {before, b.load(x), b.load(y)}),
              b.dense(DType::f32, {rows, lanes}, true));
      b.problem.lane_axis = lanes;
      check_problem(b, static_cast<unsigned>(first * 100 + second));
    }
}

TEST_CASE("several parts, each of which is rows") {
  // The same part may be chosen in two places, a choice may stand within another one, and fills may
  // differ, so that parts are not alike.
  for (const std::int64_t columns : {1, 15, 16, 64, 130, 300})
    for (const bool alike : {true, false}) {
      ProblemBuilder b("concat_of_rows");
      const int rows = b.axis(9), lanes = b.axis(columns);
      const auto one = b.constant(1), width = b.symbol(columns);
      const std::int64_t starts[] = {0, 2, 5, 9};
      std::vector<int> parts;
      for (int part = 0; part < 3; ++part) {
        const std::int64_t start = starts[part], end = starts[part + 1];
        parts.push_back(b.operand(DType::f32, {width, one}, (end - start) * columns));
        dyn::rkernel::Operand& operand = b.problem.operands[static_cast<std::size_t>(parts.back())];
        operand.guards = {range_of(rows, b.constant(start), b.constant(end))};
        operand.offset = width * -start;
        operand.fill = alike ? 0 : part;
      }
      const auto below = [&](std::int64_t end) {
        return b.expr(ExprOp::Less, {b.index(rows), b.dim(b.constant(end))}, DType::boolean);
      };
      const int first = b.expr(ExprOp::Select, {below(2), b.load(parts[0]), b.load(parts[1])});
      b.store(b.expr(ExprOp::Select, {below(5), first, b.load(parts[2])}),
              b.dense(DType::f32, {rows, lanes}, true));
      const int rest = b.expr(ExprOp::Select, {below(5), b.load(parts[1]), b.load(parts[2])});
      b.store(b.expr(ExprOp::Select, {below(2), b.load(parts[0]), rest}),
              b.dense(DType::f32, {rows, lanes}, true));
      b.problem.lane_axis = lanes;
      check_problem(b, static_cast<unsigned>(columns), 1e-6, true);
    }
}

TEST_CASE("sums over outer axes, around the number of rows that are added at once") {
  unsigned seed = 500;
  for (const std::int64_t rows : {0, 1, 7, 8, 9, 17})
    for (const std::int64_t columns : {1, 16, 33, 63, 65, 200}) {
      ProblemBuilder b("outer_sums");
      const int lanes = b.axis(columns), outer = b.axis(2, AxisKind::Reduction),
                inner = b.axis(rows, AxisKind::Reduction);
      const int x = b.load(b.dense(DType::f32, {outer, inner, lanes}));
      const int sum = b.expr(ExprOp::ReduceSum, {x}),
                most = b.expr(ExprOp::ReduceMax, {b.expr(ExprOp::Mul, {x, sum})});
      b.store(b.expr(ExprOp::Add, {sum, most}), b.dense(DType::f32, {lanes}, true));
      b.problem.lane_axis = lanes;
      check_problem(b, seed++);
    }
}
