#include "src/runtime/content_hash.hpp"

#include <array>
#include <cstring>

namespace dyn::runtime {
namespace {

// Sixteen independent multiply-with-carry generators (Marsaglia), each of which takes one of sixteen words in turn: enough of them that
// a compiler makes vectors of them, and that their latency is hidden.
constexpr std::size_t lanes = 16;
constexpr std::size_t stripe_bytes = lanes * sizeof(std::uint64_t);
/// For which the generator has its full period (D. Thomas, MWC64X).
constexpr std::uint64_t multiplier = 4294883355u;
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

using Lanes = std::array<std::uint64_t, lanes>;

std::uint64_t step(std::uint64_t state) noexcept { return (state & 0xffffffffu) * multiplier + (state >> 32); }

void take(Lanes& state, const std::byte* stripe) noexcept {
  Lanes words;
  std::memcpy(words.data(), stripe, stripe_bytes);
  for (std::size_t lane = 0; lane < lanes; ++lane) state[lane] = step(state[lane] ^ words[lane]);
}

}  // namespace

std::uint64_t content_hash(std::span<const std::byte> bytes) noexcept {
  Lanes state;
  for (std::size_t lane = 0; lane < lanes; ++lane) state[lane] = golden * (lane + 1);
  std::size_t at = 0;
  for (; at + stripe_bytes <= bytes.size(); at += stripe_bytes) take(state, bytes.data() + at);
  if (at < bytes.size()) {
    std::array<std::byte, stripe_bytes> rest{};
    std::memcpy(rest.data(), bytes.data() + at, bytes.size() - at);
    take(state, rest.data());
  }
  std::uint64_t hash = bytes.size();
  for (const std::uint64_t lane : state) {
    hash = (hash ^ lane) * golden;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace dyn::runtime
