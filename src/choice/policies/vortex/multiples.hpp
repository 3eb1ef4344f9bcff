#pragma once
// Blocks as multiples of what is below them (Vortex, Algorithm 2).

#include <cstdint>

namespace dyn::choice {

/// The part of a layer's memory that its blocks fill. (The paper gives no numbers: efficiency falls
/// where a level is used very little or nearly full.)
inline constexpr double least_utilisation = 1.0 / 64, most_utilisation = 0.75;

/// The next one of 1, 2, 3, 4, 6, 8, 12, ...
inline std::int64_t next_multiple(std::int64_t multiple) {
  return (multiple & (multiple - 1)) == 0 && multiple > 1 ? multiple / 2 * 3
         : multiple == 1                                  ? 2
                                                          : multiple / 3 * 4;
}

/// GenerateMultiples: calls `visit(i, j, l)` for all multiples by 2^x or 3 * 2^x, along M, N and K,
/// that `admits(i, j, l)`. A multiple that it refuses has no larger one that it admits.
template <class Admits, class Visit>
void for_each_multiple(const Admits& admits, const Visit& visit) {
  constexpr std::int64_t one = 1;
  for (std::int64_t i = 1; admits(i, one, one); i = next_multiple(i)) {
    for (std::int64_t j = 1; admits(i, j, one); j = next_multiple(j)) {
      for (std::int64_t l = 1; admits(i, j, l); l = next_multiple(l)) visit(i, j, l);
    }
  }
}

}  // namespace dyn::choice
