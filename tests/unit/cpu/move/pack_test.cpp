// Panels of packed weights in each dtype, element by element.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "dyn/error.hpp"
#include "src/rkernel/expr/narrow.hpp"
#include "targets/cpu/move/pack.hpp"
#include "tests/support/half.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::DType;
using dyn::rkernel::PackedLayout;

namespace {

constexpr std::byte untouched{0xa5};

/// The panels of a k x n matrix whose rows (or columns, transposed) are contiguous; each panel is
/// packed by a call of its own.
std::vector<std::byte> packed(const PackedLayout& layout, const std::vector<float>& matrix,
                              bool transposed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(layout.bytes()) + 1, untouched);
  for (std::int64_t panel = 0; panel < layout.panels(); ++panel) {
    pack_panels(layout,
                {matrix.data(), DType::f32, transposed ? 1 : layout.n, transposed ? layout.k : 1},
                panel, panel + 1, bytes.data());
  }
  CHECK(bytes.back() == untouched);
  return bytes;
}

template <class T>
T element(const PackedLayout& layout, const std::vector<std::byte>& bytes, std::int64_t k,
          std::int64_t n) {
  const std::int64_t index =
      n / layout.panel * layout.k * layout.panel + k * layout.panel + n % layout.panel;
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

float scale(const PackedLayout& layout, const std::vector<std::byte>& bytes, std::int64_t n) {
  float value;
  std::memcpy(&value, bytes.data() + layout.scales_offset_bytes() + n * 4, 4);
  return value;
}

float at(const PackedLayout& layout, const std::vector<float>& matrix, bool transposed,
         std::int64_t k, std::int64_t n) {
  return matrix[static_cast<std::size_t>(transposed ? n * layout.k + k : k * layout.n + n)];
}

/// Elements between two values of 16 bits, denormal, beyond f16, and plain ones.
std::vector<float> strange_numbers(std::size_t count, std::mt19937_64& random) {
  using Limits = std::numeric_limits<float>;
  const float strange[] = {0.0f,       -0.0f,     Limits::denorm_min(),
                           -0x1p-130f, 0x1p-24f,  0x1p-25f,
                           0x1.8p-25f, 65504.0f,  65520.0f,
                           -1e38f,     0x1.01p0f, 0x1.03p0f,
                           0x1.002p0f, 0x1.006p0f};
  std::vector<float> numbers(count);
  for (float& number : numbers)
    number = random() % 3 == 0 ? strange[random() % std::size(strange)]
                               : static_cast<float>(random() % 4001) / 1000 - 2;
  return numbers;
}

}  // namespace

TEST_CASE("elements of fewer bits are packed as the numbers that they are") {
  std::mt19937_64 random(dyn::testing::test_seed(20261127));
  for (const DType from : {DType::i8, DType::f16, DType::bf16}) {
    for (const DType to : {DType::f32, DType::bf16, DType::i8}) {
      for (int round = 0; round < 12; ++round) {
        // Along k, along n, and along neither.
        const std::int64_t k = static_cast<std::int64_t>(random() % 150),
                           n = 1 + static_cast<std::int64_t>(random() % 70),
                           kinds[][2] = {{1, k}, {n, 1}, {2 * n, 2}};
        const auto [k_stride, n_stride] = kinds[round % 3];
        std::vector<std::byte> elements(static_cast<std::size_t>(2 * k * n + 2) * size_of(from));
        for (std::byte& each : elements) each = static_cast<std::byte>(random() % 256);
        // Without exponents of infinity and NaN, which i8 has not.
        for (std::size_t i = 1; from != DType::i8 && i < elements.size(); i += 2)
          elements[i] &= std::byte{0xbb};
        std::vector<float> numbers(elements.size() / size_of(from));
        dyn::rkernel::convert(from, elements.data(), DType::f32, numbers.data(),
                              static_cast<std::int64_t>(numbers.size()));
        const PackedLayout layout{to, 16, k, n, to == DType::f32 ? n % 16 : 0};
        std::vector<std::byte> packed[2];
        for (const bool widened : {false, true}) {
          packed[widened].assign(static_cast<std::size_t>(layout.bytes()) + 1, untouched);
          const void* const source =
              widened ? static_cast<const void*>(numbers.data()) : elements.data();
          pack_panels(layout, {source, widened ? DType::f32 : from, k_stride, n_stride}, 0,
                      layout.panels(), packed[widened].data());
        }
        CAPTURE(name_of(from));
        CAPTURE(name_of(to));
        CAPTURE(round);
        CHECK(packed[0] == packed[1]);
        CHECK(packed[0].back() == untouched);
      }
    }
  }
}

TEST_CASE("the last columns lie behind the panels as rows, and nothing beyond") {
  std::mt19937_64 random(dyn::testing::test_seed(20261126));
  for (int i = 0; i < 100; ++i) {
    PackedLayout layout{DType::f32, 1 << (random() % 6), static_cast<std::int64_t>(random() % 130),
                        1 + static_cast<std::int64_t>(random() % 70)};
    const std::int64_t in_last_panel = layout.n - (layout.panels() - 1) * layout.panel;
    layout.rows =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(in_last_panel + 1));
    const bool transposed = random() % 2 == 0;
    const std::vector<float> matrix =
        strange_numbers(static_cast<std::size_t>(layout.k * layout.n), random);
    const std::vector<std::byte> bytes = packed(layout, matrix, transposed);
    CHECK(layout.row_stride() > layout.k);
    CHECK(layout.rows_offset_bytes() % 64 == 0);
    for (std::int64_t n = 0; n < layout.n; ++n) {
      for (std::int64_t k = 0; k < layout.k; ++k) {
        const float expected = at(layout, matrix, transposed, k, n);
        REQUIRE(std::bit_cast<std::uint32_t>(element<float>(layout, bytes, k, n)) ==
                std::bit_cast<std::uint32_t>(expected));
        const std::int64_t row = n - (layout.n - layout.rows);
        if (row < 0) continue;
        float there;
        std::memcpy(&there,
                    bytes.data() + layout.rows_offset_bytes() + (row * layout.row_stride() + k) * 4,
                    4);
        REQUIRE(std::bit_cast<std::uint32_t>(there) == std::bit_cast<std::uint32_t>(expected));
      }
    }
  }
}

TEST_CASE("panels of 16 bits hold what is nearest, ties to even, and zeros at the edge") {
  std::mt19937_64 random(dyn::testing::test_seed(20261121));
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (int repeat = 0; repeat < 40; ++repeat) {
      const PackedLayout layout{dtype, 1 << (random() % 6),
                                static_cast<std::int64_t>(random() % 130),
                                static_cast<std::int64_t>(random() % 70)};
      const bool transposed = random() % 2 == 0;
      std::vector<float> matrix =
          strange_numbers(static_cast<std::size_t>(layout.k * layout.n), random);
      if (!matrix.empty()) {
        matrix[random() % matrix.size()] = std::numeric_limits<float>::infinity();
        matrix[random() % matrix.size()] = std::numeric_limits<float>::quiet_NaN();
      }
      const std::vector<std::byte> bytes = packed(layout, matrix, transposed);
      int wrong = 0;
      for (std::int64_t k = 0; k < layout.k; ++k) {
        for (std::int64_t n = 0; n < layout.panels() * layout.panel; ++n) {
          const auto bits = element<std::uint16_t>(layout, bytes, k, n);
          const float number = n < layout.n ? at(layout, matrix, transposed, k, n) : 0;
          wrong += std::isnan(number) ? !std::isnan(dyn::testing::half_value(dtype, bits))
                                      : bits != dyn::testing::half_bits(dtype, number);
        }
      }
      CAPTURE(repeat);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("panels of 8 bits and their scales are within half a step of the weights") {
  std::mt19937_64 random(dyn::testing::test_seed(20261121));
  for (int repeat = 0; repeat < 40; ++repeat) {
    const PackedLayout layout{DType::i8, 1 << (random() % 6),
                              static_cast<std::int64_t>(random() % 130),
                              static_cast<std::int64_t>(random() % 70)};
    const bool transposed = random() % 2 == 0;
    std::vector<float> matrix =
        strange_numbers(static_cast<std::size_t>(layout.k * layout.n), random);
    const std::int64_t zeros =
        layout.n > 0 ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(layout.n))
                     : -1;
    for (std::int64_t k = 0; zeros >= 0 && k < layout.k; ++k)
      matrix[static_cast<std::size_t>(transposed ? zeros * layout.k + k : k * layout.n + zeros)] =
          0;
    const std::vector<std::byte> bytes = packed(layout, matrix, transposed);
    CHECK(layout.scales_offset_bytes() % 64 == 0);
    int wrong = 0;
    for (std::int64_t n = 0; n < layout.panels() * layout.panel; ++n) {
      float largest = 0;
      for (std::int64_t k = 0; n < layout.n && k < layout.k; ++k)
        largest = std::max(largest, std::fabs(at(layout, matrix, transposed, k, n)));
      const float step = scale(layout, bytes, n);
      wrong += step == largest / 127 ? 0 : 1;
      for (std::int64_t k = 0; k < layout.k; ++k) {
        const int kept = element<std::int8_t>(layout, bytes, k, n);
        const double number = n < layout.n ? at(layout, matrix, transposed, k, n) : 0;
        wrong += kept >= -127 && std::fabs(number - kept * double{step}) <= 0.5001 * step ? 0 : 1;
      }
    }
    CAPTURE(repeat);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a column of denormal weights has a scale, and no NaN comes of it") {
  const PackedLayout layout{DType::i8, 4, 2, 1};
  const std::vector<float> matrix{std::numeric_limits<float>::denorm_min(), -0x1p-140f};
  const std::vector<std::byte> bytes = packed(layout, matrix, false);
  for (std::int64_t k = 0; k < 2; ++k)
    CHECK(std::isfinite(element<std::int8_t>(layout, bytes, k, 0) * scale(layout, bytes, 0)));
}

TEST_CASE("NaN and infinity have no place in 8 bits") {
  for (const float number :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const PackedLayout layout{DType::i8, 4, 3, 6};
    std::vector<float> matrix(18, 1);
    matrix[2 * 6 + 5] = number;
    try {
      packed(layout, matrix, false);
      FAIL_CHECK("no error");
    } catch (const dyn::Error& error) {
      CHECK(error.kind() == dyn::ErrorKind::model);
      CHECK(std::string(error.what()).find("column 5") != std::string::npos);
    }
  }
}
