#include "targets/ptx/emulator/multiprocessor/lanes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace dyn::ptx::emulation {
namespace {

constexpr std::uint32_t float_infinity = 0x7F800000u;

/// A fragment's place in its matrix.
struct Place {
  int row, column;
};
// The place of element i of a lane, with so many elements in each register: m16n8k8 has 1 (32
// bits), m16n8k16 2 (16 bits), m16n8k32 4 (8 bits).
Place a_place(int lane, int i, int packed) {
  return {lane / 4 + i / packed % 2 * 8,
          lane % 4 * packed + i % packed + i / (2 * packed) * 4 * packed};
}
Place b_place(int lane, int i, int packed) {
  return {lane % 4 * packed + i % packed + i / packed * 4 * packed, lane / 4};
}
Place c_place(int lane, int i) { return {lane / 4 + (i / 2) * 8, lane % 4 * 2 + i % 2}; }

constexpr std::uint32_t tf32_mask = ~std::uint32_t{(1u << 13) - 1};

bool multiplies_bytes(Op op) { return op >= Op::MmaU8U8 && op <= Op::MmaI8I8; }

/// Elements in each register of a factor.
int packed_elements(Op op) { return multiplies_bytes(op) ? 4 : op == Op::MmaTf32 ? 1 : 2; }

bool is_signed(Op op, bool of_b) {
  return op == Op::MmaI8I8 || op == (of_b ? Op::MmaU8I8 : Op::MmaI8U8);
}

/// Element i of a register of a factor.
double element_of(Op op, bool of_b, std::uint32_t word, int i) {
  const int packed = packed_elements(op);
  word >>= i % packed * (32 / packed);
  if (packed == 4 && is_signed(op, of_b)) return static_cast<std::int8_t>(word);
  if (packed == 4) return static_cast<std::uint8_t>(word);
  if (packed == 1) return std::bit_cast<float>(word & tf32_mask);
  return op == Op::MmaF16 ? from_f16(static_cast<std::uint16_t>(word))
                          : std::bit_cast<float>(word << 16);
}

}  // namespace

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > float_infinity) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  constexpr std::uint32_t to_infinity = 0x477FF000u;   // 65520, half way to 65536
  constexpr std::uint32_t least_normal = 0x38800000u;  // 2^-14
  if (magnitude > float_infinity) return 0x7FFF;
  if (magnitude >= to_infinity) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude < least_normal) {
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1u);
  constexpr std::uint32_t bias_difference = (127u - 15u) << 23;
  return static_cast<std::uint16_t>(sign | (rounded - bias_difference) >> 13);
}

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = bits >> 10 & 31u, fraction = bits & 1023u;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | float_infinity | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

namespace {

float without_subnormal(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

/// `rounded`, which is no NaN, moved by as many of its units in the last place as the bits of x
/// say, at most `ulps`: a multiplicative hash, which keeps no pattern of powers and reciprocals.
float inexact(float rounded, float x, int ulps) {
  if (rounded == 0 || std::isinf(rounded)) return rounded;
  const std::uint32_t drawn = std::bit_cast<std::uint32_t>(x) * 0x9E3779B1u >> 16;
  const int steps = static_cast<int>(drawn % static_cast<std::uint32_t>(2 * ulps + 1)) - ulps;
  return moved_by_ulps(rounded, steps);
}

}  // namespace

float moved_by_ulps(float value, int ulps) {
  const double unit = std::ldexp(1.0, std::ilogb(value) - std::numeric_limits<float>::digits + 1);
  const double place = static_cast<double>(value) + ulps * unit;
  auto result = static_cast<float>(place);
  // Above a power of two there are half as many floats.
  if (std::isfinite(result) &&
      std::fabs(result - static_cast<double>(value)) > std::abs(ulps) * unit)
    result = std::nextafterf(result, value);
  return without_subnormal(result);
}

float approximate_exp2(float x) {
  x = without_subnormal(x);
  if (std::isnan(x) || x == 0) return std::isnan(x) ? x : 1.0f;
  return inexact(without_subnormal(static_cast<float>(std::exp2(static_cast<double>(x)))), x, 2);
}

float approximate_reciprocal(float x) {
  x = without_subnormal(x);
  if (std::isnan(x)) return x;
  return inexact(without_subnormal(1 / x), x, 1);
}

int shuffle_source(Op op, int lane, std::uint32_t b, std::uint32_t c) {
  const int step = static_cast<int>(b & 31u), clamp = static_cast<int>(c & 31u),
            segment = static_cast<int>(c >> 8 & 31u);
  const int most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
  int source = lane;
  if (op == Op::ShuffleBfly) source = lane ^ step;
  if (op == Op::ShuffleDown) source = lane + step;
  if (op == Op::ShuffleIndex) source = least | (step & ~segment);
  return source <= most ? source : lane;
}

namespace {

// Terms of one element of a product of matrices, as tensor cores add them.
class TensorCoreSum {
 public:
  void add(double x, double y) {
    const double term = x * y;
    terms_[static_cast<std::size_t>(count_++)] = term;
    finite_ = finite_ && std::isfinite(term);
    if (term != 0) top_ = std::max(top_, exponent(x) + exponent(y));
  }

  // Terms are aligned to the largest exponent, as the factors' exponents give it, and cut 25 bits
  // below; their sum is exact, and cut to f32. A Hopper GPU does so, to the bit
  // (tests/golden/gpu).
  float result() const {
    const std::span<const double> terms(terms_.data(), static_cast<std::size_t>(count_));
    if (!finite_) return static_cast<float>(std::accumulate(terms.begin(), terms.end(), 0.0));
    const double steps = std::ldexp(1.0, bits_below - top_);
    std::int64_t cut = 0;
    for (const double term : terms) cut += static_cast<std::int64_t>(term * steps);
    const double sum = static_cast<double>(cut) / steps;
    const auto rounded = static_cast<float>(sum);
    return std::fabs(double{rounded}) > std::fabs(sum) ? std::nextafter(rounded, 0.0f) : rounded;
  }

 private:
  // `value` is not 0; as doubles, subnormal numbers of f32 have an exponent too.
  static int exponent(double value) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ffu) - 1023;
  }

  static constexpr int bits_below = 25, least_exponent = -512;
  std::array<double, 17> terms_ = {};
  int count_ = 0, top_ = least_exponent;
  bool finite_ = true;
};

/// c plus the sum of `terms`, integers, which wraps around.
std::uint32_t sum_of_bytes(std::uint32_t c, const double* a, const double (*b)[8], int column,
                           int terms) {
  std::int64_t sum = 0;
  for (int j = 0; j < terms; ++j) sum += static_cast<std::int64_t>(a[j] * b[j][column]);
  return c + static_cast<std::uint32_t>(sum);
}

std::uint32_t sum_of_floats(std::uint32_t c, const double* a, const double (*b)[8], int column,
                            int terms) {
  TensorCoreSum sum;
  sum.add(std::bit_cast<float>(c), 1);
  for (int j = 0; j < terms; ++j) sum.add(a[j], b[j][column]);
  return std::bit_cast<std::uint32_t>(sum.result());
}

}  // namespace

void multiply(Op op, std::span<const LaneOperands, warp_lanes> operands,
              std::span<std::array<std::uint32_t, 4>, warp_lanes> results) {
  constexpr int m = 16, n = 8, most = 32;
  const int packed = packed_elements(op), k = 8 * packed;
  double a[m][most], b[most][n];
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const LaneOperands& words = operands[static_cast<std::size_t>(lane)];
    for (int i = 0; i < 4 * packed; ++i) {
      const Place place = a_place(lane, i, packed);
      a[place.row][place.column] =
          element_of(op, false, words[static_cast<std::size_t>(i / packed)], i);
    }
    for (int i = 0; i < 2 * packed; ++i) {
      const Place place = b_place(lane, i, packed);
      b[place.row][place.column] =
          element_of(op, true, words[static_cast<std::size_t>(4 + i / packed)], i);
    }
  }
  const auto sum = multiplies_bytes(op) ? sum_of_bytes : sum_of_floats;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Place place = c_place(lane, i);
      const std::uint32_t c =
          operands[static_cast<std::size_t>(lane)][6 + static_cast<std::size_t>(i)];
      results[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i)] =
          sum(c, a[place.row], b, place.column, k);
    }
  }
}

std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t digit = selector >> (4 * i) & 15u;
    std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (digit & 7u) * 8) & 0xffu;
    if ((digit & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0;
    result |= byte << (8 * i);
  }
  return result;
}

std::uint32_t matrix_fragment(bool transposed, int lane, std::span<const char* const> rows,
                              int matrix) {
  const std::span<const char* const> own = rows.subspan(static_cast<std::size_t>(8 * matrix), 8);
  const auto element = [&](int row, int column) {
    std::uint16_t value;
    std::memcpy(&value, own[static_cast<std::size_t>(row)] + 2 * column, sizeof(value));
    return std::uint32_t{value};
  };
  const int outer = lane / 4, inner = lane % 4 * 2;
  if (transposed) return element(inner, outer) | element(inner + 1, outer) << 16;
  return element(outer, inner) | element(outer, inner + 1) << 16;
}

}  // namespace dyn::ptx::emulation
