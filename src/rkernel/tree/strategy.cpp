#include "src/rkernel/tree/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dyn::rkernel {

Tiling equal_tiling(std::int64_t extent, std::int64_t largest) {
  if (extent <= 0) return {};
  const std::int64_t tiles = (extent + largest - 1) / largest;
  const std::int64_t small = extent / tiles, larger = extent % tiles;
  if (larger == 0) return {{small, tiles}, {}};
  return {{small + 1, larger}, {small, tiles - larger}};
}

Tiling tiling_of(std::int64_t extent, std::int64_t largest) {
  if (extent <= 0) return {};
  const std::int64_t tiles = (extent + largest - 1) / largest;
  for (std::int64_t rest = 0; rest < std::min(tiles, largest); ++rest) {
    const std::int64_t left = extent - (tiles - rest) * largest;
    if (rest == 0 ? left == 0 : left % rest == 0 && 2 * left >= rest * largest)
      return {{largest, tiles - rest}, {rest > 0 ? left / rest : 0, rest}};
  }
  return equal_tiling(extent, largest);
}

std::int64_t fixed_slices(std::int64_t outputs, std::int64_t depth) {
  constexpr std::int64_t few_outputs = 4096, least_depth = 1024, most_slices = 8;
  return outputs > few_outputs ? 1 : std::clamp<std::int64_t>(depth / least_depth, 1, most_slices);
}

std::string to_string(const Tiling& tiling) {
  std::string text = fmt::format("{} x {}", tiling.first.count, tiling.first.tile);
  if (tiling.second.count > 0)
    text += fmt::format(" + {} x {}", tiling.second.count, tiling.second.tile);
  return text;
}

}  // namespace dyn::rkernel
