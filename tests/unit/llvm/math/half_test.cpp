// f16 and bf16 as dtypes of memory: every pattern, and the edges of rounding.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/half.hpp"
#include "tests/unit/cpu/loop/fixture.hpp"

using namespace dyn::testing;
using dyn::DType;
using dyn::codegen::Isa;

namespace {

std::vector<std::vector<std::uint8_t>> zeros(const ProblemBuilder& b) {
  std::vector<std::vector<std::uint8_t>> contents;
  for (std::size_t i = 0; i < b.elements.size(); ++i)
    contents.emplace_back(static_cast<std::size_t>(b.elements[i]) *
                          size_of(b.problem.operands[i].dtype));
  return contents;
}

/// Copies operand 0 to operand 1, through an operator of one argument where there is one, on each
/// ISA; returns the outputs.
template <class To, class From>
std::vector<std::vector<To>> converted(DType from, DType to, const std::vector<From>& values,
                                       dyn::rkernel::ExprOp op = dyn::rkernel::ExprOp::Load) {
  ProblemBuilder b("convert");
  b.axis(static_cast<std::int64_t>(values.size()));
  const int source = b.dense(from, {0}), destination = b.dense(to, {0}, true);
  const int value = b.load(source);
  b.store(op == dyn::rkernel::ExprOp::Load ? value : b.expr(op, {value}), destination);
  auto initial = zeros(b);
  initial[0] = bytes_of(values);
  std::vector<std::vector<To>> results;
  for (const Isa& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa)) continue;
    const auto bytes = run_loop_kernel(b, isa, initial).outputs[1];
    results.emplace_back(values.size());
    std::memcpy(results.back().data(), bytes.data(), bytes.size());
  }
  return results;
}

/// Numbers halfway between two neighbours, just beside that, and special ones.
std::vector<float> edges(DType dtype) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               65504.0f,
                               65519.99f,
                               65520.0f,
                               65536.0f,
                               1e30f,
                               0x1p-24f,
                               0x1p-25f,
                               0x1.000002p-25f,
                               0x1p-26f,
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::min(),
                               std::bit_cast<float>(0x7f800001u),
                               std::bit_cast<float>(0xffffffffu)};
  for (std::uint32_t bits = 0; bits + 1 < 0x8000; ++bits) {
    const double low = half_value(dtype, static_cast<std::uint16_t>(bits)),
                 high = half_value(dtype, static_cast<std::uint16_t>(bits + 1));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float value :
         {std::nextafterf(middle, 0), middle, std::nextafterf(middle, INFINITY)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

}  // namespace

TEST_CASE("every 16-bit float is read exactly") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    std::vector<std::uint16_t> patterns(65536);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    for (const auto& values : converted<float>(dtype, DType::f32, patterns))
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        const double wanted = half_value(dtype, patterns[i]);
        const bool same = std::isnan(wanted)
                              ? std::isnan(values[i])
                              : std::bit_cast<std::uint32_t>(values[i]) ==
                                    std::bit_cast<std::uint32_t>(static_cast<float>(wanted));
        CAPTURE(i);
        if (!same) REQUIRE(same);
      }
  }
}

TEST_CASE("floats are rounded to the nearest 16-bit float, ties to even") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    const std::vector<float> values = edges(dtype);
    REQUIRE(values.size() > 6 * 30000);
    for (const auto& halves : converted<std::uint16_t>(DType::f32, dtype, values))
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t wanted = half_bits(dtype, values[i]);
        const bool same =
            std::isnan(values[i]) ? std::isnan(half_value(dtype, halves[i])) : halves[i] == wanted;
        CAPTURE(values[i]);
        CAPTURE(halves[i]);
        CAPTURE(wanted);
        if (!same) REQUIRE(same);
      }
  }
}

TEST_CASE("floats become those that a 16-bit float holds") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    const std::vector<float> values = edges(dtype);
    const auto op =
        dtype == DType::f16 ? dyn::rkernel::ExprOp::RoundF16 : dyn::rkernel::ExprOp::RoundBf16;
    for (const auto& rounded : converted<float>(DType::f32, DType::f32, values, op))
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double wanted = half_value(dtype, half_bits(dtype, values[i]));
        const bool same = std::isnan(wanted) ? std::isnan(rounded[i])
                                             : rounded[i] == wanted &&
                                                   std::signbit(rounded[i]) == std::signbit(wanted);
        CAPTURE(values[i]);
        CAPTURE(rounded[i]);
        CAPTURE(wanted);
        if (!same) REQUIRE(same);
      }
  }
}
