#include "src/choice/cost/machine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dyn::choice {
namespace {

std::pair<int, int> by_columns_and_rows(const TileSpeed& tile) { return {tile.columns, tile.rows}; }

}  // namespace

const std::vector<TileSpeed>& Machine::speeds_of(const rkernel::Factors& factors) const {
  if (narrow_tiles.empty()) return tiles;
  const auto narrow = narrow_tiles.find(factors);
  return narrow == narrow_tiles.end() ? tiles : narrow->second;
}

const TileSpeed* Machine::find_tile(int rows, int columns, const rkernel::Factors& factors) const {
  const std::vector<TileSpeed>& speeds = speeds_of(factors);
  const auto found =
      std::ranges::lower_bound(speeds, std::pair(columns, rows), {}, by_columns_and_rows);
  return found != speeds.end() && found->rows == rows && found->columns == columns ? &*found
                                                                                   : nullptr;
}

int Machine::most_rows(int columns) const {
  const auto after = std::ranges::upper_bound(tiles, columns, {}, &TileSpeed::columns);
  return after != tiles.begin() && std::prev(after)->columns == columns ? std::prev(after)->rows
                                                                        : 0;
}

int Machine::fastest_rows(int columns, const rkernel::Factors& factors) const {
  const std::vector<TileSpeed>& speeds = speeds_of(factors);
  if (&speeds == &tiles) return most_rows(columns);
  const auto row_of_second = [](const TileSpeed& tile) {
    return static_cast<double>(tile.rows) / tile.seconds_per_k;
  };
  const auto [first, last] = std::ranges::equal_range(speeds, columns, {}, &TileSpeed::columns);
  double most = 0;
  for (auto tile = first; tile != last; ++tile) most = std::max(most, row_of_second(*tile));
  int rows = 0;
  for (auto tile = first; tile != last; ++tile) {
    if (row_of_second(*tile) >= most * (1 - fitted.tie)) rows = tile->rows;
  }
  return rows;
}

}  // namespace dyn::choice
