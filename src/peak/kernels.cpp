#include "src/peak/kernels.hpp"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dyn::peak {
namespace {

// Chains: at least latency (4 or 5 cycles) times units (2), and few enough for the registers.
constexpr int avx512_chains = 24, avx2_chains = 12, sse2_chains = 12;
// 0.5 * x + 1 converges to 2: neither denormal nor infinite, however long it runs.
constexpr float factor = 0.5f, term = 1.0f;
// Chains of a read loop; several, so that the chain of xors is no limit.
constexpr int read_chains = 8;

__attribute__((target("avx512f"))) float multiply_add_avx512(std::int64_t iterations) {
  __m512 chains[avx512_chains];
#pragma GCC unroll 24
  for (int i = 0; i < avx512_chains; ++i) chains[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(factor), b = _mm512_set1_ps(term);
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 24
    for (int i = 0; i < avx512_chains; ++i) chains[i] = _mm512_fmadd_ps(chains[i], a, b);
  }
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 24
  for (int i = 0; i < avx512_chains; ++i) sum = _mm512_add_ps(sum, chains[i]);
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, sum);
  return lanes[0] + lanes[15];
}

__attribute__((target("avx2,fma"))) float multiply_add_avx2(std::int64_t iterations) {
  __m256 chains[avx2_chains];
#pragma GCC unroll 12
  for (int i = 0; i < avx2_chains; ++i) chains[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(factor), b = _mm256_set1_ps(term);
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < avx2_chains; ++i) chains[i] = _mm256_fmadd_ps(chains[i], a, b);
  }
  __m256 sum = _mm256_setzero_ps();
#pragma GCC unroll 12
  for (int i = 0; i < avx2_chains; ++i) sum = _mm256_add_ps(sum, chains[i]);
  return _mm256_cvtss_f32(_mm256_hadd_ps(sum, sum));
}

float multiply_add_sse2(std::int64_t iterations) {
  __m128 chains[sse2_chains];
#pragma GCC unroll 12
  for (int i = 0; i < sse2_chains; ++i) chains[i] = _mm_set1_ps(static_cast<float>(i));
  const __m128 a = _mm_set1_ps(factor), b = _mm_set1_ps(term);
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < sse2_chains; ++i) chains[i] = _mm_add_ps(_mm_mul_ps(chains[i], a), b);
  }
  __m128 sum = _mm_setzero_ps();
#pragma GCC unroll 12
  for (int i = 0; i < sse2_chains; ++i) sum = _mm_add_ps(sum, chains[i]);
  return _mm_cvtss_f32(sum);
}

// Prefetches the lines that a later round reads: hardware prefetchers stop at pages. Addresses
// beyond the end are only hints.
inline void ask_ahead(const void* round, std::size_t bytes) {
  constexpr std::size_t line_bytes = 64, distance_bytes = 8192;
  for (std::size_t offset = 0; offset < bytes; offset += line_bytes) {
    _mm_prefetch(static_cast<const char*>(round) + distance_bytes + offset, _MM_HINT_T0);
  }
}

template <bool ahead>
__attribute__((target("avx512f"))) std::uint64_t read_avx512(const void* data, std::size_t bytes) {
  const auto* vectors = static_cast<const __m512i*>(data);
  __m512i chains[read_chains] = {};
  for (std::size_t n = 0; n < bytes / sizeof(__m512i); n += read_chains) {
    if (ahead) ask_ahead(vectors + n, read_chains * sizeof(__m512i));
#pragma GCC unroll 8
    for (int i = 0; i < read_chains; ++i) {
      chains[i] =
          _mm512_xor_si512(chains[i], _mm512_load_si512(vectors + n + static_cast<std::size_t>(i)));
    }
  }
  __m512i all = chains[0];
#pragma GCC unroll 8
  for (int i = 1; i < read_chains; ++i) all = _mm512_xor_si512(all, chains[i]);
  alignas(64) std::uint64_t lanes[8];
  _mm512_store_si512(lanes, all);
  return lanes[0] ^ lanes[7];
}

template <bool ahead>
__attribute__((target("avx2"))) std::uint64_t read_avx2(const void* data, std::size_t bytes) {
  const auto* vectors = static_cast<const __m256i*>(data);
  __m256i chains[read_chains] = {};
  for (std::size_t n = 0; n < bytes / sizeof(__m256i); n += read_chains) {
    if (ahead) ask_ahead(vectors + n, read_chains * sizeof(__m256i));
#pragma GCC unroll 8
    for (int i = 0; i < read_chains; ++i) {
      chains[i] =
          _mm256_xor_si256(chains[i], _mm256_load_si256(vectors + n + static_cast<std::size_t>(i)));
    }
  }
  __m256i all = chains[0];
#pragma GCC unroll 8
  for (int i = 1; i < read_chains; ++i) all = _mm256_xor_si256(all, chains[i]);
  return static_cast<std::uint64_t>(_mm256_extract_epi64(all, 0) ^ _mm256_extract_epi64(all, 3));
}

template <bool ahead>
std::uint64_t read_sse2(const void* data, std::size_t bytes) {
  const auto* vectors = static_cast<const __m128i*>(data);
  __m128i chains[read_chains] = {};
  for (std::size_t n = 0; n < bytes / sizeof(__m128i); n += read_chains) {
    if (ahead) ask_ahead(vectors + n, read_chains * sizeof(__m128i));
#pragma GCC unroll 8
    for (int i = 0; i < read_chains; ++i) {
      chains[i] =
          _mm_xor_si128(chains[i], _mm_load_si128(vectors + n + static_cast<std::size_t>(i)));
    }
  }
  __m128i all = chains[0];
#pragma GCC unroll 8
  for (int i = 1; i < read_chains; ++i) all = _mm_xor_si128(all, chains[i]);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(all));
}

// A function of independent chains of one step over vectors of integers. The step is assembly, as a
// compiler moves products of unchanged factors out of the loop.
#define DYN_INTEGER_CHAINS(name, features, vector, count, broadcast, step)               \
  __attribute__((target(features))) std::int64_t name(std::int64_t iterations) {         \
    vector chains[count];                                                                \
    _Pragma("GCC unroll 24") for (int i = 0; i < (count); ++i) chains[i] = broadcast(i); \
    const vector a = broadcast(1), b = broadcast(2);                                     \
    for (std::int64_t n = 0; n < iterations; ++n) {                                      \
      _Pragma("GCC unroll 24") for (int i = 0; i < (count); ++i) {                       \
        vector product;                                                                  \
        asm(step : "+v"(chains[i]), "=&v"(product) : "v"(a), "v"(b));                    \
      }                                                                                  \
    }                                                                                    \
    vector all = chains[0];                                                              \
    _Pragma("GCC unroll 24") for (int i = 1; i < (count); ++i) all = all ^ chains[i];    \
    std::int64_t lanes[sizeof(vector) / sizeof(std::int64_t)];                           \
    __builtin_memcpy(lanes, &all, sizeof lanes);                                         \
    return lanes[0];                                                                     \
  }

DYN_INTEGER_CHAINS(bytes_avx512, "avx512f,avx512vnni", __m512i, 24, _mm512_set1_epi32,
                   "vpdpbusd %3, %2, %0")
DYN_INTEGER_CHAINS(bytes_avx2, "avx2,avxvnni", __m256i, 12, _mm256_set1_epi32,
                   "%{vex%} vpdpbusd %3, %2, %0")
DYN_INTEGER_CHAINS(shorts_avx512, "avx512f,avx512bw", __m512i, 24, _mm512_set1_epi32,
                   "vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0")
DYN_INTEGER_CHAINS(shorts_avx2, "avx2", __m256i, 12, _mm256_set1_epi32,
                   "vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0")
DYN_INTEGER_CHAINS(shorts_sse2, "sse2", __m128i, 12, _mm_set1_epi32,
                   "movdqa %2, %1\n\tpmaddwd %3, %1\n\tpaddd %1, %0")

__attribute__((target("avx512f,avx512bf16"))) std::int64_t bfloats_avx512(std::int64_t iterations) {
  __m512 chains[avx512_chains];
#pragma GCC unroll 24
  for (int i = 0; i < avx512_chains; ++i) chains[i] = _mm512_set1_ps(static_cast<float>(i));
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80)),
             b = reinterpret_cast<__m512bh>(_mm512_setzero_si512());
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 24
    for (int i = 0; i < avx512_chains; ++i) chains[i] = _mm512_dpbf16_ps(chains[i], a, b);
  }
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 24
  for (int i = 0; i < avx512_chains; ++i) sum = _mm512_add_ps(sum, chains[i]);
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, sum);
  return static_cast<std::int64_t>(lanes[0]);
}

/// The operand of ldtilecfg (Intel, Software Developer's Manual): all tiles are of 16 rows of 64
/// bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, unused[15] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Chains of whole tiles: six, and the two factors.
constexpr int matrix_chains = 6, matrix_rows = 16, matrix_columns = 16, matrix_depth = 16;

#define DYN_MATRIX_CHAINS(name, features, instruction)                           \
  __attribute__((target(features))) std::int64_t name(std::int64_t iterations) { \
    const TileConfig config;                                                     \
    alignas(64) std::int32_t sums[matrix_rows * matrix_columns] = {};            \
    _tile_loadconfig(&config);                                                   \
    _tile_zero(0);                                                               \
    _tile_zero(1);                                                               \
    _tile_zero(2);                                                               \
    _tile_zero(3);                                                               \
    _tile_zero(4);                                                               \
    _tile_zero(5);                                                               \
    _tile_zero(6);                                                               \
    _tile_zero(7);                                                               \
    for (std::int64_t n = 0; n < iterations; ++n) {                              \
      instruction(0, 6, 7);                                                      \
      instruction(1, 6, 7);                                                      \
      instruction(2, 6, 7);                                                      \
      instruction(3, 6, 7);                                                      \
      instruction(4, 6, 7);                                                      \
      instruction(5, 6, 7);                                                      \
    }                                                                            \
    _tile_stored(0, sums, 64);                                                   \
    _tile_release();                                                             \
    return sums[0];                                                              \
  }

DYN_MATRIX_CHAINS(bytes_amx, "amx-tile,amx-int8", _tile_dpbusd)
DYN_MATRIX_CHAINS(bfloats_amx, "amx-tile,amx-bf16", _tile_dpbf16ps)

/// The system saves tiles of a process that has asked for them (Linux, arch_prctl).
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
         __builtin_cpu_supports("amx-bf16") &&
         syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// Multiply and add count as two operations.
constexpr double flops_of(int chains, int lanes) { return 2.0 * chains * lanes; }

}  // namespace

Isa best_isa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return Isa::avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::avx2 : Isa::sse2;
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "sse2";
  }
}

std::optional<Isa> find_isa(std::string_view name) {
  for (const Isa isa : {Isa::sse2, Isa::avx2, Isa::avx512}) {
    if (name == name_of(isa) && isa <= best_isa()) return isa;
  }
  return std::nullopt;
}

Kernels kernels_of(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return {multiply_add_avx512,
              flops_of(avx512_chains, 16),
              {read_avx512<false>, read_avx512<true>}};
    case Isa::avx2:
      return {multiply_add_avx2, flops_of(avx2_chains, 8), {read_avx2<false>, read_avx2<true>}};
    default:
      return {multiply_add_sse2, flops_of(sse2_chains, 4), {read_sse2<false>, read_sse2<true>}};
  }
}

std::vector<NarrowKernel> narrow_kernels_of(Isa isa) {
  __builtin_cpu_init();
  std::vector<NarrowKernel> kernels;
  constexpr int bytes = 4, pairs = 2;
  const bool matrices = isa == Isa::avx512 && may_use_tiles();
  if (matrices) {
    constexpr double flops = flops_of(matrix_chains * matrix_rows, matrix_columns) * matrix_depth;
    kernels.push_back({"i8", bytes_amx, bytes * flops});
    kernels.push_back({"bf16", bfloats_amx, pairs * flops});
  }
  if (isa == Isa::avx512) {
    if (!matrices && __builtin_cpu_supports("avx512vnni"))
      kernels.push_back({"i8", bytes_avx512, bytes * flops_of(avx512_chains, 16)});
    if (__builtin_cpu_supports("avx512bw"))
      kernels.push_back({"i16", shorts_avx512, pairs * flops_of(avx512_chains, 16)});
    if (!matrices && __builtin_cpu_supports("avx512bf16"))
      kernels.push_back({"bf16", bfloats_avx512, pairs * flops_of(avx512_chains, 16)});
  } else if (isa == Isa::avx2) {
    if (__builtin_cpu_supports("avxvnni"))
      kernels.push_back({"i8", bytes_avx2, bytes * flops_of(avx2_chains, 8)});
    kernels.push_back({"i16", shorts_avx2, pairs * flops_of(avx2_chains, 8)});
  } else {
    kernels.push_back({"i16", shorts_sse2, pairs * flops_of(sse2_chains, 4)});
  }
  return kernels;
}

}  // namespace dyn::peak
