#include "src/peak/traffic.hpp"

#include <immintrin.h>

namespace dyn::peak {
namespace {

constexpr std::size_t line_bytes = 64, round_lines = 8, ahead_bytes = 8192;
// Chains of reads; several, so that the chain of xors is no limit.
constexpr std::size_t chain_count = 8;

enum class Stores { None, PastCaches, Cached };

// Keeps unused results alive.
volatile int traffic_sink;

using Sources = std::array<const void*, most_sources>;

// Prefetches the lines that a later round reads. Addresses beyond the end are only hints.
template <int sources>
inline void ask_ahead(const Sources& from, std::size_t offset) {
  for (int source = 0; source < sources; ++source) {
    for (std::size_t line = 0; line < round_lines; ++line) {
      const auto* round = static_cast<const char*>(from[static_cast<std::size_t>(source)]) + offset;
      _mm_prefetch(round + ahead_bytes + line * line_bytes, _MM_HINT_T0);
    }
  }
}

template <int sources, Stores stores, bool ahead>
__attribute__((target("avx512f"))) void move_avx512(void* to, const Sources& from,
                                                    std::size_t bytes) {
  const auto* first = static_cast<const __m512i*>(from[0]);
  const auto* second = static_cast<const __m512i*>(from[1]);
  auto* target = static_cast<__m512i*>(to);
  __m512i chains[chain_count] = {};
  for (std::size_t n = 0; n < bytes / sizeof(__m512i); n += round_lines) {
    if (ahead) ask_ahead<sources>(from, n * sizeof(__m512i));
#pragma GCC unroll 8
    for (std::size_t i = n; i < n + round_lines; ++i) {
      __m512i value = _mm512_set1_epi32(1);
      if (sources > 0) value = _mm512_load_si512(first + i);
      if (sources > 1) value = _mm512_add_epi32(value, _mm512_load_si512(second + i));
      if (stores == Stores::PastCaches) _mm512_stream_si512(target + i, value);
      if (stores == Stores::Cached) _mm512_store_si512(target + i, value);
      if (stores == Stores::None)
        chains[i % chain_count] = _mm512_xor_si512(chains[i % chain_count], value);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 1; i < chain_count; ++i) chains[0] = _mm512_xor_si512(chains[0], chains[i]);
  traffic_sink = _mm512_cvtsi512_si32(chains[0]);
  _mm_sfence();
}

template <int sources, Stores stores, bool ahead>
__attribute__((target("avx2"))) void move_avx2(void* to, const Sources& from, std::size_t bytes) {
  constexpr std::size_t vectors = round_lines * line_bytes / sizeof(__m256i);
  const auto* first = static_cast<const __m256i*>(from[0]);
  const auto* second = static_cast<const __m256i*>(from[1]);
  auto* target = static_cast<__m256i*>(to);
  __m256i chains[chain_count] = {};
  for (std::size_t n = 0; n < bytes / sizeof(__m256i); n += vectors) {
    if (ahead) ask_ahead<sources>(from, n * sizeof(__m256i));
#pragma GCC unroll 16
    for (std::size_t i = n; i < n + vectors; ++i) {
      __m256i value = _mm256_set1_epi32(1);
      if (sources > 0) value = _mm256_load_si256(first + i);
      if (sources > 1) value = _mm256_add_epi32(value, _mm256_load_si256(second + i));
      if (stores == Stores::PastCaches) _mm256_stream_si256(target + i, value);
      if (stores == Stores::Cached) _mm256_store_si256(target + i, value);
      if (stores == Stores::None)
        chains[i % chain_count] = _mm256_xor_si256(chains[i % chain_count], value);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 1; i < chain_count; ++i) chains[0] = _mm256_xor_si256(chains[0], chains[i]);
  traffic_sink = _mm256_cvtsi256_si32(chains[0]);
  _mm_sfence();
}

template <int sources, Stores stores, bool ahead>
void move_sse2(void* to, const Sources& from, std::size_t bytes) {
  constexpr std::size_t vectors = round_lines * line_bytes / sizeof(__m128i);
  const auto* first = static_cast<const __m128i*>(from[0]);
  const auto* second = static_cast<const __m128i*>(from[1]);
  auto* target = static_cast<__m128i*>(to);
  __m128i chains[chain_count] = {};
  for (std::size_t n = 0; n < bytes / sizeof(__m128i); n += vectors) {
    if (ahead) ask_ahead<sources>(from, n * sizeof(__m128i));
#pragma GCC unroll 32
    for (std::size_t i = n; i < n + vectors; ++i) {
      __m128i value = _mm_set1_epi32(1);
      if (sources > 0) value = _mm_load_si128(first + i);
      if (sources > 1) value = _mm_add_epi32(value, _mm_load_si128(second + i));
      if (stores == Stores::PastCaches) _mm_stream_si128(target + i, value);
      if (stores == Stores::Cached) _mm_store_si128(target + i, value);
      if (stores == Stores::None)
        chains[i % chain_count] = _mm_xor_si128(chains[i % chain_count], value);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 1; i < chain_count; ++i) chains[0] = _mm_xor_si128(chains[0], chains[i]);
  traffic_sink = _mm_cvtsi128_si32(chains[0]);
  _mm_sfence();
}

template <int sources, Stores stores>
std::array<Traffic, 2> versions(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return {move_avx512<sources, stores, false>, move_avx512<sources, stores, true>};
    case Isa::avx2: return {move_avx2<sources, stores, false>, move_avx2<sources, stores, true>};
    default: return {move_sse2<sources, stores, false>, move_sse2<sources, stores, true>};
  }
}

}  // namespace

std::array<TrafficKind, 5> traffic_of(Isa isa) {
  return {{{"read", 1, false, versions<1, Stores::None>(isa)},
           {"fill", 0, true, versions<0, Stores::PastCaches>(isa)},
           {"copy", 1, true, versions<1, Stores::PastCaches>(isa)},
           {"add", 2, true, versions<2, Stores::PastCaches>(isa)},
           {"cached_copy", 1, true, versions<1, Stores::Cached>(isa)}}};
}

}  // namespace dyn::peak
