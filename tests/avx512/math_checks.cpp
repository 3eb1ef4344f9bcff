// Every function of floats, at floats of every exponent: within a few units in the last place of
// what libm gives in double.

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "tests/avx512/loop_check.hpp"

namespace dyn::avx512_check {
namespace {

using rkernel::ExprOp;

/// Neighbouring floats have neighbouring numbers, across 0 too.
std::int64_t ordinal(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits < 0 ? -static_cast<std::int64_t>(bits & 0x7fffffff) : bits;
}

class MathCheck final : public LoopCheck {
 public:
  MathCheck(std::string name, const codegen::Isa& isa, std::int64_t limit_ulps)
      : LoopCheck(std::move(name), isa), limit_ulps_(limit_ulps) {}

 private:
  void compare(const Item&, const Contents& got, const Contents& wanted) const override {
    const auto value = [](const std::vector<std::uint8_t>& bytes, std::size_t i) {
      float result;
      std::memcpy(&result, bytes.data() + 4 * i, sizeof result);
      return result;
    };
    for (std::size_t i = 0; i < wanted.back().size() / 4; ++i) {
      const float a = value(got.back(), i), b = value(wanted.back(), i);
      const bool near = std::isnan(b)
                            ? std::isnan(a)
                            : !std::isnan(a) && std::abs(ordinal(a) - ordinal(b)) <= limit_ulps_;
      if (!near)
        throw Failure(
            fmt::format("of {:.9g} is {:.9g}, expected {:.9g}", value(got.front(), i), a, b));
    }
  }

  std::int64_t limit_ulps_;
};

/// Special values and the ends of ranges, floats at equal steps of their bits, and some of common
/// size. An odd number, so that there is a tail.
std::vector<float> sample() {
  std::vector<float> values = {0.0f,           -0.0f,         1.0f,        -1.0f,     0.5f,
                               -2.5f,          INFINITY,      -INFINITY,   NAN,       1e-45f,
                               1.1754942e-38f, 3.4028235e38f, 88.72283f,   88.7229f,  -103.97f,
                               -104.1f,        8388609.0f,    0.70710677f, 3.1415927f};
  constexpr std::uint64_t step = (std::uint64_t{1} << 21) + 4099;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (float value = -20; value < 20; value += 0.0973f) values.push_back(value);
  if (values.size() % 2 == 0) values.push_back(0.25f);
  return values;
}

void add(Checks& checks, const codegen::Isa& isa, ExprOp op, std::int64_t limit_ulps) {
  const std::vector<float> x = sample();
  std::vector<float> y(x.rbegin(), x.rend());
  auto builder = std::make_unique<testing::ProblemBuilder>(std::string(name_of(op)));
  builder->axis(static_cast<std::int64_t>(x.size()));
  const int a = builder->dense(DType::f32, {0}), b = builder->dense(DType::f32, {0}),
            out = builder->dense(DType::f32, {0}, true);
  std::vector<int> arguments{builder->load(a)};
  if (rkernel::argument_count(op) == 2) arguments.push_back(builder->load(b));
  builder->store(builder->expr(op, arguments), out);
  auto check =
      std::make_unique<MathCheck>(fmt::format("{} of floats", name_of(op)), isa, limit_ulps);
  check->add(std::move(builder), 1, 0, false,
             {{a, testing::bytes_of(x)}, {b, testing::bytes_of(y)}});
  checks.push_back(std::move(check));
}

}  // namespace

void add_math_checks(Checks& checks, const codegen::Isa& isa) {
  for (const ExprOp op : {ExprOp::Exp, ExprOp::Log, ExprOp::Sin, ExprOp::Cos, ExprOp::Rsqrt,
                          ExprOp::Tan, ExprOp::Asin, ExprOp::Acos, ExprOp::Atan, ExprOp::Sinh,
                          ExprOp::Cosh, ExprOp::Asinh, ExprOp::Acosh, ExprOp::Atanh})
    add(checks, isa, op, 1);
  for (const ExprOp op : {ExprOp::Tanh, ExprOp::Erf, ExprOp::Sigmoid}) add(checks, isa, op, 3);
  for (const ExprOp op : {ExprOp::Sqrt, ExprOp::Reciprocal, ExprOp::Floor, ExprOp::Ceil,
                          ExprOp::Round, ExprOp::Relu, ExprOp::Sign, ExprOp::Abs, ExprOp::Neg,
                          ExprOp::Max, ExprOp::Min, ExprOp::Div, ExprOp::Mod}) {
    add(checks, isa, op, 0);
  }
  add(checks, isa, ExprOp::Pow, 1);
}

}  // namespace dyn::avx512_check
