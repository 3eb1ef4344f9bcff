#include "src/runtime/weights/content_hash.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <cstring>

#include "src/runtime/weights/golden.hpp"

namespace dyn::runtime {
namespace {

// Sixteen independent multiply-with-carry generators (Marsaglia), each of which takes one of
// sixteen words in turn: enough to hide their latency.
constexpr std::size_t lanes = 16;
constexpr std::size_t stripe_bytes = lanes * sizeof(std::uint64_t);
/// A multiplier with which the generator has its full period (D. Thomas, MWC64X).
constexpr std::uint64_t multiplier = 4294883355u;

using Lanes = std::array<std::uint64_t, lanes>;

#if defined(__SSE2__)
// Compilers do not see that both factors have 32 bits.
void take(Lanes& state, const std::byte* first, std::size_t stripes) noexcept {
  constexpr std::size_t pairs = lanes / 2;
  const __m128i factor = _mm_set1_epi64x(static_cast<long long>(multiplier));
  __m128i vectors[pairs];
  std::memcpy(vectors, state.data(), stripe_bytes);
  for (const std::byte* stripe = first; stripe != first + stripes * stripe_bytes;
       stripe += stripe_bytes) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stripe) + pair);
      const __m128i mixed = _mm_xor_si128(vectors[pair], words);
      vectors[pair] = _mm_add_epi64(_mm_mul_epu32(mixed, factor), _mm_srli_epi64(mixed, 32));
    }
  }
  std::memcpy(state.data(), vectors, stripe_bytes);
}
#else
void take(Lanes& state, const std::byte* first, std::size_t stripes) noexcept {
  for (const std::byte* stripe = first; stripe != first + stripes * stripe_bytes;
       stripe += stripe_bytes) {
    Lanes words;
    std::memcpy(words.data(), stripe, stripe_bytes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t mixed = state[lane] ^ words[lane];
      state[lane] = (mixed & 0xffffffffu) * multiplier + (mixed >> 32);
    }
  }
}
#endif

}  // namespace

std::uint64_t content_hash(std::span<const std::byte> bytes) noexcept {
  Lanes state;
  for (std::size_t lane = 0; lane < lanes; ++lane) state[lane] = golden * (lane + 1);
  const std::size_t stripes = bytes.size() / stripe_bytes, rest_bytes = bytes.size() % stripe_bytes;
  take(state, bytes.data(), stripes);
  if (rest_bytes > 0) {
    std::array<std::byte, stripe_bytes> rest{};
    std::memcpy(rest.data(), bytes.data() + stripes * stripe_bytes, rest_bytes);
    take(state, rest.data(), 1);
  }
  std::uint64_t hash = bytes.size();
  for (const std::uint64_t lane : state) {
    hash = (hash ^ lane) * golden;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace dyn::runtime
