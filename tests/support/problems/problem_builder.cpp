#include "tests/support/problems/problem_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/half.hpp"
#include "tests/support/problems/problem_interpreter.hpp"

namespace dyn::testing {

using rkernel::Expr;
using rkernel::ExprOp;

graph::Dim ProblemBuilder::symbol(std::int64_t value) {
  values.push_back(value);
  return dims.symbol(
      {.name = "", .low = std::numeric_limits<std::int64_t>::min() / 4, .hint = std::nullopt});
}

int ProblemBuilder::axis(std::int64_t extent, rkernel::AxisKind kind) {
  values.push_back(extent);
  const graph::Dim dim = dims.symbol({.name = "", .high = 1 << 20, .hint = std::nullopt});
  problem.axes.push_back({"axis" + std::to_string(extents.size()), dim, kind});
  extents.push_back(extent);
  return static_cast<int>(extents.size()) - 1;
}

int ProblemBuilder::operand(DType dtype, std::vector<graph::Dim> strides, std::int64_t count,
                            bool written) {
  rkernel::Operand operand;
  const int index = static_cast<int>(problem.operands.size());
  operand.name = "operand" + std::to_string(index);
  operand.dtype = dtype;
  operand.buffer = index;
  operand.written = written;
  operand.offset = dims.constant(0);
  operand.strides = std::move(strides);
  problem.operands.push_back(std::move(operand));
  elements.push_back(count);
  return index;
}

int ProblemBuilder::dense(DType dtype, const std::vector<int>& axes, bool written) {
  std::vector<graph::Dim> strides(extents.size(), constant(0));
  graph::Dim stride = constant(1);
  std::int64_t count = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto position = static_cast<std::size_t>(*axis);
    strides[position] = stride;
    stride = stride * problem.axes[position].extent;
    count *= extents[position];
  }
  return operand(dtype, std::move(strides), count, written);
}

int ProblemBuilder::expr(ExprOp op, std::vector<int> args, DType dtype) {
  Expr expr;
  expr.op = op;
  expr.dtype = dtype;
  std::copy(args.begin(), args.end(), expr.args);
  problem.exprs.push_back(expr);
  return static_cast<int>(problem.exprs.size()) - 1;
}

int ProblemBuilder::load(int operand, int gather) {
  const DType dtype = problem.operands[static_cast<std::size_t>(operand)].dtype;
  const int result = expr(ExprOp::Load, {gather},
                          dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype);
  problem.exprs.back().operand = operand;
  return result;
}

int ProblemBuilder::number(double value) {
  const int result = expr(ExprOp::Constant, {});
  problem.exprs.back().number = value;
  return result;
}

int ProblemBuilder::integer(std::int64_t value) {
  const int result = expr(ExprOp::Constant, {}, DType::i64);
  problem.exprs.back().integer = value;
  return result;
}

int ProblemBuilder::index(int axis) {
  const int result = expr(ExprOp::Index, {}, DType::i64);
  problem.exprs.back().axis = axis;
  return result;
}

int ProblemBuilder::dim(graph::Dim dim) {
  const int result = expr(ExprOp::DimValue, {}, DType::i64);
  problem.exprs.back().dim = dim;
  return result;
}

namespace {

template <class T>
void fill_with(void* memory, std::size_t count, const auto& next) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(next());
    std::memcpy(static_cast<char*>(memory) + i * sizeof(T), &value, sizeof(T));
  }
}

float random_float(std::mt19937& random, bool specials) {
  constexpr float list[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
  if (specials && random() % 50 == 0) return list[random() % 5];
  return std::normal_distribution<float>()(random);
}

std::vector<double> floats_of(DType dtype, const std::vector<std::uint8_t>& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
    double value = 0;
    float single = 0;
    std::uint16_t half = 0;
    if (dtype == DType::f64)
      std::memcpy(&value, bytes.data() + at, sizeof value);
    else if (dtype == DType::f32)
      std::memcpy(&single, bytes.data() + at, sizeof single);
    else
      std::memcpy(&half, bytes.data() + at, sizeof half);
    values.push_back(dtype == DType::f64   ? value
                     : dtype == DType::f32 ? single
                                           : half_value(dtype, half));
  }
  return values;
}

void compare_floats(DType dtype, const std::vector<std::uint8_t>& got,
                    const std::vector<std::uint8_t>& wanted, double tolerance) {
  double largest = 1;
  const std::vector<double> a = floats_of(dtype, got), b = floats_of(dtype, wanted);
  for (const double value : b)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  // Neighbouring numbers of the format differ by up to 2^-10 and 2^-7 of themselves.
  tolerance = std::max(tolerance, dtype == DType::f16    ? 0x1p-10
                                  : dtype == DType::bf16 ? 0x1p-7
                                                         : 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) <= tolerance * largest
                                          : (std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]);
    CAPTURE(i);
    CAPTURE(a[i]);
    CAPTURE(b[i]);
    if (!same) REQUIRE(same);
  }
}

}  // namespace

void fill(const ProblemBuilder& builder, int operand, void* memory, std::mt19937& random,
          bool specials) {
  const auto count = static_cast<std::size_t>(builder.elements[static_cast<std::size_t>(operand)]);
  const auto small = [&] { return static_cast<int>(random() % 9) - 4; };
  const DType dtype = builder.problem.operands[static_cast<std::size_t>(operand)].dtype;
  switch (dtype) {
    case DType::f32:
      return fill_with<float>(memory, count, [&] { return random_float(random, specials); });
    case DType::f16:
    case DType::bf16:
      return fill_with<std::uint16_t>(
          memory, count, [&] { return half_bits(dtype, random_float(random, specials)); });
    case DType::f64:
      return fill_with<double>(memory, count, [&] { return random_float(random, specials); });
    case DType::i64: return fill_with<std::int64_t>(memory, count, small);
    case DType::i32: return fill_with<std::int32_t>(memory, count, small);
    case DType::boolean:
      return fill_with<std::uint8_t>(memory, count, [&] { return random() % 2; });
    default:
      return fill_with<std::uint8_t>(memory, count * size_of(dtype), [&] { return random(); });
  }
}

std::vector<std::vector<std::uint8_t>> random_contents(
    const ProblemBuilder& builder, unsigned seed, bool specials,
    const std::map<int, std::vector<std::uint8_t>>& given) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::uint8_t>> contents;
  for (std::size_t i = 0; i < builder.elements.size(); ++i) {
    contents.emplace_back(static_cast<std::size_t>(builder.elements[i]) *
                          size_of(builder.problem.operands[i].dtype));
    if (const auto found = given.find(static_cast<int>(i)); found != given.end())
      contents.back() = found->second;
    else
      fill(builder, static_cast<int>(i), contents.back().data(), random, specials);
  }
  return contents;
}

std::vector<std::vector<std::uint8_t>> interpreted(
    const ProblemBuilder& builder, std::vector<std::vector<std::uint8_t>> contents) {
  std::map<graph::ValueId, void*> by_value;
  for (std::size_t i = 0; i < contents.size(); ++i)
    by_value[builder.problem.operands[i].buffer] = contents[i].data();
  interpret(builder.problem, builder.values, by_value);
  return contents;
}

void require_close(const ProblemBuilder& builder, int operand, const std::vector<std::uint8_t>& got,
                   const std::vector<std::uint8_t>& wanted, double tolerance) {
  CAPTURE(operand);
  const DType dtype = builder.problem.operands[static_cast<std::size_t>(operand)].dtype;
  if (is_float(dtype))
    compare_floats(dtype, got, wanted, tolerance);
  else
    REQUIRE(got == wanted);
}

}  // namespace dyn::testing
