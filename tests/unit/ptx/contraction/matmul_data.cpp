#include "tests/unit/ptx/contraction/matmul_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/half.hpp"
#include "tests/support/seed.hpp"

namespace dyn::ptx::testing {
namespace {

using dyn::testing::half_bits;
using dyn::testing::half_value;

constexpr std::byte pattern{0xA5};
/// mma with TF32 operands ignores these bits.
constexpr std::uint32_t tf32_ignored = 0x1fff;

double element(const Bytes& buffer, DType dtype, std::int64_t index) {
  const std::byte* at = buffer.data() + index * static_cast<std::int64_t>(size_of(dtype));
  const auto number = [at](auto value) -> double {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f32: return number(float());
    case DType::i32: return number(std::int32_t());
    case DType::i8: return number(std::int8_t());
    case DType::u8: return number(std::uint8_t());
    default: break;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return half_value(dtype, bits);
}

double rounded(DType dtype, double value) {
  return dtype == DType::f32 ? value : half_value(dtype, half_bits(dtype, value));
}

// The value that the engine multiplies.
double multiplied(const choice::GpuTile& tile, double value) {
  if (tile.integers()) return value;
  if (tile.operands != DType::f32) return rounded(tile.operands, value);
  if (tile.engine == choice::Engine::CudaCores) return value;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) &
                              ~tf32_ignored);
}

Bytes random_buffer(DType dtype, std::int64_t elements, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(-1, 1.5f);
  Bytes buffer(static_cast<std::size_t>(elements) * size_of(dtype));
  if (!is_float(dtype)) {
    for (std::byte& byte : buffer) byte = static_cast<std::byte>(random());
    return buffer;
  }
  for (std::int64_t i = 0; i < elements; ++i) {
    const float value = uniform(random);
    std::byte* at = buffer.data() + i * static_cast<std::int64_t>(size_of(dtype));
    const std::uint16_t bits = dtype == DType::f32 ? std::uint16_t{0} : half_bits(dtype, value);
    if (dtype == DType::f32)
      std::memcpy(at, &value, sizeof value);
    else
      std::memcpy(at, &bits, sizeof bits);
  }
  return buffer;
}

struct Place {
  std::int64_t batch, m, n;
};
/// The expected value of one element, and the largest error that its bound allows.
struct Element {
  double expected, bound;
};

double requantised(std::int32_t sum, DType to) {
  const float scaled = static_cast<float>(sum) * static_cast<float>(requantised_scale);
  const std::int64_t moved = static_cast<std::int64_t>(std::nearbyint(scaled)) + requantised_zero;
  return static_cast<double>(to == DType::i8 ? std::clamp<std::int64_t>(moved, -128, 127)
                                             : std::clamp<std::int64_t>(moved, 0, 255));
}

/// i32 wraps around.
Element expected_integer(const MatmulCase& c, const std::vector<Bytes>& buffers, double product,
                         const Place& place) {
  std::size_t operand = 2;
  auto sum = static_cast<std::int64_t>(product);
  const auto add = [&](std::int64_t index) {
    sum += static_cast<std::int64_t>(element(buffers[operand++], DType::i32, index));
  };
  if (c.bias) add(place.n);
  constexpr double below_one = 0.5;
  if (c.gelu) return {requantised(static_cast<std::int32_t>(sum), c.output), below_one};
  if (c.residual) add((place.batch * c.m + place.m) * c.n + place.n);
  return {static_cast<double>(static_cast<std::int32_t>(sum)), below_one};
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

std::int64_t at(const MatrixLayout& layout, std::int64_t batch, std::int64_t row,
                std::int64_t column) {
  return layout.offset + batch * layout.batch_stride + row * layout.row_stride +
         column * layout.column_stride;
}

// Element (batch, m, k) of A, where `at.n` is k.
double a_element(const MatmulCase& c, const std::vector<Bytes>& buffers, const MatrixLayout& a,
                 const Place& of) {
  if (!c.windows) return element(buffers[0], c.a, at(a, of.batch, of.m, of.n));
  const std::optional<std::int64_t> place = c.windows->place(of.m, of.n);
  return place ? element(buffers[0], c.a, a.offset + *place)
               : static_cast<double>(c.windows->outside);
}

Element expected_at(const MatmulCase& c, const std::vector<Bytes>& buffers, const Place& place) {
  const MatrixLayout a = a_layout(c), b = b_layout(c);
  double sum = 0, magnitude = 0;
  for (std::int64_t k = 0; k < c.k; ++k) {
    const double product =
        multiplied(c.tile, a_element(c, buffers, a, {place.batch, place.m, k})) *
        multiplied(c.tile, element(buffers[1], c.b, at(b, place.batch, k, place.n)));
    sum += product;
    magnitude += std::fabs(product);
  }
  if (c.tile.integers()) return expected_integer(c, buffers, sum, place);
  std::size_t operand = 2;
  if (c.bias) sum += element(buffers[operand++], DType::f32, place.n);
  if (c.gelu) sum = gelu(sum);
  if (c.residual)
    sum += element(buffers[operand++], c.output, (place.batch * c.m + place.m) * c.n + place.n);
  const double eps = std::numeric_limits<float>::epsilon();
  double bound = (static_cast<double>(c.k) + 4) * eps * (magnitude + 4);
  if (c.output != DType::f32)
    bound += (std::fabs(sum) + bound) * (c.output == DType::f16 ? 0x1p-11 : 0x1p-8) + 0x1p-24;
  return {sum, bound};
}

}  // namespace

void draw_dtypes(MatmulCase& c, std::mt19937_64& random) {
  constexpr DType floats[] = {DType::f32, DType::f16, DType::bf16},
                  bytes[] = {DType::u8, DType::i8};
  const auto factor = [&](Copy copy) {
    if (c.tile.integers()) return bytes[random() % 2];
    return copy != Copy::Elements ? c.tile.operands : floats[random() % 3];
  };
  c.a = factor(c.a_copy);
  c.b = factor(c.b_copy);
  c.output = c.tile.integers() ? c.gelu ? bytes[random() % 2] : DType::i32 : floats[random() % 3];
  c.residual = c.residual && !(c.tile.integers() && c.gelu);
}

std::vector<Bytes> random_buffers(const MatmulCase& c, std::mt19937_64& random) {
  std::vector<Bytes> buffers{random_buffer(c.a, a_layout(c).elements, random),
                             random_buffer(c.b, b_layout(c).elements, random)};
  if (c.bias) buffers.push_back(random_buffer(sum_dtype(c), c.n, random));
  if (c.residual) buffers.push_back(random_buffer(c.output, c.batch * c.m * c.n, random));
  buffers.emplace_back(static_cast<std::size_t>(output_layout(c).elements) * size_of(c.output),
                       pattern);
  return buffers;
}

double worst_error(const MatmulCase& c, const std::vector<Bytes>& buffers, const Bytes& output) {
  const MatrixLayout layout = output_layout(c);
  Bytes rest = output;
  double worst = 0;
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    for (std::int64_t m = 0; m < c.m; ++m) {
      for (std::int64_t n = 0; n < c.n; ++n) {
        const std::int64_t place = at(layout, batch, m, n);
        const Element wanted = expected_at(c, buffers, {batch, m, n});
        const double error =
            std::fabs(wanted.expected - element(output, c.output, place)) / wanted.bound;
        worst =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
        std::fill_n(rest.begin() + place * static_cast<std::int64_t>(size_of(c.output)),
                    size_of(c.output), pattern);
      }
    }
  }
  const bool untouched =
      std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == pattern; });
  return untouched ? worst : std::numeric_limits<double>::infinity();
}

bool is_fma_loop(const MatmulCase& c, const std::vector<Bytes>& buffers, const Bytes& output) {
  const MatrixLayout a = a_layout(c), b = b_layout(c), layout = output_layout(c);
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    for (std::int64_t m = 0; m < c.m; ++m) {
      for (std::int64_t n = 0; n < c.n; ++n) {
        float sum = 0;
        for (std::int64_t k = 0; k < c.k; ++k) {
          sum = std::fma(static_cast<float>(a_element(c, buffers, a, {batch, m, k})),
                         static_cast<float>(element(buffers[1], c.b, at(b, batch, k, n))), sum);
        }
        const auto stored =
            static_cast<float>(element(output, DType::f32, at(layout, batch, m, n)));
        if (std::bit_cast<std::uint32_t>(sum) != std::bit_cast<std::uint32_t>(stored)) return false;
      }
    }
  }
  return true;
}

std::uint64_t contraction_seed() { return dyn::testing::test_seed(20251121); }

}  // namespace dyn::ptx::testing
