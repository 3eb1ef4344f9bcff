// Narrow floats and integers of less than a byte.

#include "graph/ir/codes.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "graph/ir/scalars.hpp"
#include "targets/reference/reference.hpp"

using namespace dyn;

namespace {

constexpr DType byte_floats[] = {DType::f8e4m3fn,   DType::f8e4m3fnuz, DType::f8e5m2,
                                 DType::f8e5m2fnuz, DType::f8e8m0,     DType::f4e2m1};

int codes_of(DType dtype) { return dtype == DType::f4e2m1 ? 16 : 256; }

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Numbers of the format, their neighbours, the middles between them, and any f32.
std::vector<float> numbers_around(DType dtype) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers{infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 0.0F,
                             -0.0F};
  for (int code = 0; code + 1 < codes_of(dtype); ++code) {
    const double here = reference::number_of_code(dtype, code),
                 next = reference::number_of_code(dtype, code + 1);
    for (const double number : {here, (here + next) / 2, 2 * here, 1.75 * here}) {
      const auto middle = static_cast<float>(number);
      for (const float each :
           {middle, std::nextafter(middle, infinity), std::nextafter(middle, -infinity)})
        numbers.push_back(each);
    }
  }
  std::mt19937 random(20261125);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t bits = random();
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

TEST_CASE("a code of a narrow float stands for the number that its format defines") {
  CHECK(reference::number_of_code(DType::f8e4m3fn, 0x7e) == 448);
  CHECK(reference::number_of_code(DType::f8e4m3fnuz, 0x7f) == 240);
  CHECK(reference::number_of_code(DType::f8e5m2, 0x7b) == 57344);
  CHECK(reference::number_of_code(DType::f8e5m2, 0xfc) == -std::numeric_limits<double>::infinity());
  CHECK(reference::number_of_code(DType::f8e5m2fnuz, 0x01) == 0x1p-17);
  CHECK(reference::number_of_code(DType::f8e8m0, 0) == 0x1p-127);
  CHECK(reference::number_of_code(DType::f4e2m1, 0xf) == -6);
  for (const DType dtype : byte_floats) {
    CAPTURE(name_of(dtype));
    for (int code = 0; code < codes_of(dtype); ++code) {
      CAPTURE(code);
      CHECK(same(graph::float_of_code(dtype, static_cast<std::uint16_t>(code)),
                 reference::number_of_code(dtype, code)));
    }
  }
}

TEST_CASE("a number becomes the nearest code, of two the even one") {
  for (const DType dtype : byte_floats) {
    CAPTURE(name_of(dtype));
    for (const float number : numbers_around(dtype)) {
      const std::int64_t code = graph::code_of_number(dtype, number),
                         expected = reference::nearest_code(dtype, number);
      if (code == expected) continue;
      CAPTURE(number);
      CAPTURE(code);
      CHECK(
          same(reference::number_of_code(dtype, code), reference::number_of_code(dtype, expected)));
    }
  }
}

TEST_CASE("integers of 4 and 2 bits keep the low bits") {
  for (int integer = -40; integer < 40; ++integer) {
    const int low4 = ((integer % 16) + 16) % 16, low2 = ((integer % 4) + 4) % 4;
    CHECK(graph::code_of_integer(DType::u4, integer) == low4);
    CHECK(graph::code_of_integer(DType::i4, integer) == (low4 >= 8 ? low4 - 16 : low4));
    CHECK(graph::code_of_integer(DType::u2, integer) == low2);
    CHECK(graph::code_of_integer(DType::i2, integer) == (low2 >= 2 ? low2 - 4 : low2));
  }
  CHECK(graph::least(DType::i4) == -8);
  CHECK(graph::greatest(DType::i4) == 7);
  CHECK(graph::least(DType::u2) == 0);
  CHECK(graph::greatest(DType::u2) == 3);
}
