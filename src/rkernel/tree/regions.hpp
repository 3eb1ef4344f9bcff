#pragma once
// Regions cover the output of a contraction.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/rkernel/tree/strategy.hpp"

namespace dyn::rkernel {

/// Nine patterns in the manner of MikPoly (section 3.3): I and II are its own, which its figures
/// use; III to IX are ours.
///   I     one region
///   II    cut along M: two strips of rows
///   III   cut along N: two strips of columns
///   IV    cut along M, then the lower strip along N
///   V     cut along M, then the upper strip along N
///   VI    cut along N, then the right strip along M
///   VII   cut along N, then the left strip along M
///   VIII  cut along both: four regions
///   IX    cut along M twice: three strips of rows
enum class Pattern : std::uint8_t { I, II, III, IV, V, VI, VII, VIII, IX };
inline constexpr std::array all_patterns{Pattern::I,   Pattern::II,   Pattern::III,
                                         Pattern::IV,  Pattern::V,    Pattern::VI,
                                         Pattern::VII, Pattern::VIII, Pattern::IX};
std::string_view name_of(Pattern pattern);

/// Where a pattern cuts: rows above `m`, columns left of `n` come first; pattern IX cuts at
/// `second_m` again, not before `m`.
struct Cuts {
  std::int64_t m = 0, n = 0, second_m = 0;
};

/// The regions of a pattern on an output of m x n, row by row, without strategies: each element
/// lies in exactly one. Regions without elements are left out, but one is always there. Cuts lie in
/// [0, m] and [0, n].
std::vector<Region> cover(Pattern pattern, std::int64_t m, std::int64_t n, const Cuts& cuts);

}  // namespace dyn::rkernel
