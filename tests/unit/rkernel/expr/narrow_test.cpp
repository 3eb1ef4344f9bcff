#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "src/rkernel/expr/narrow.hpp"
#include "tests/support/half.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using rkernel::convert;
using rkernel::to_bf16;
using rkernel::to_f16;

namespace {

void check_both(float value) {
  const std::uint16_t bf16 = to_bf16(value), f16 = to_f16(value);
  if (std::isnan(value)) {
    CHECK(std::isnan(testing::half_value(DType::bf16, bf16)));
    CHECK(std::isnan(testing::half_value(DType::f16, f16)));
    return;
  }
  if (bf16 == testing::half_bits(DType::bf16, value) &&
      f16 == testing::half_bits(DType::f16, value))
    return;
  CAPTURE(std::bit_cast<std::uint32_t>(value));
  CHECK(bf16 == testing::half_bits(DType::bf16, value));
  CHECK(f16 == testing::half_bits(DType::f16, value));
}

}  // namespace

TEST_CASE("every value of 16 bits comes back as it was") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = testing::half_value(dtype, static_cast<std::uint16_t>(bits));
      float wide = 0;
      convert(dtype, &bits, DType::f32, &wide, 1);
      if (std::isnan(value) ? !std::isnan(wide) : static_cast<double>(wide) != value) ++wrong;
      if (std::isnan(value)) continue;
      const auto back = dtype == DType::f16 ? to_f16(static_cast<float>(value))
                                            : to_bf16(static_cast<float>(value));
      if (back != bits) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("floats are rounded to nearest even") {
  using Limits = std::numeric_limits<float>;
  for (const float value :
       {0.0f, -0.0f, 1.0f, -1.0f, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
        Limits::max(), Limits::min(), Limits::denorm_min(), 65504.0f, 65519.0f, 65520.0f, 65536.0f,
        0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.ffcp-15f, 0x1.ffep-15f}) {
    check_both(value);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) {
    check_both(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    // Numbers in the range of f16, often right between two of its values.
    const std::uint32_t exponent = 127 - 26 + static_cast<std::uint32_t>(random() % 44);
    const std::uint32_t mantissa = static_cast<std::uint32_t>(random() & 0x7fffff) &
                                   (random() % 2 == 0 ? 0x7ff000u : 0x7fffffu);
    check_both(std::bit_cast<float>(exponent << 23 | mantissa));
  }
}

TEST_CASE("conversions that there are not") {
  testing::check_error(
      ErrorKind::internal, [] { convert(DType::i64, nullptr, DType::bf16, nullptr, 1); },
      "from i64 to bf16");
}
