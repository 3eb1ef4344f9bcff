#include "src/choice/cost/machine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dyn::choice {
namespace {

std::pair<int, int> by_columns_and_rows(const TileSpeed& tile) { return {tile.columns, tile.rows}; }

}  // namespace

const TileSpeed* Machine::find_tile(int rows, int columns, const rkernel::Factors& factors) const {
  const std::vector<TileSpeed>* speeds = &tiles;
  if (!narrow_tiles.empty()) {
    if (const auto narrow = narrow_tiles.find(factors); narrow != narrow_tiles.end())
      speeds = &narrow->second;
  }
  const auto found =
      std::ranges::lower_bound(*speeds, std::pair(columns, rows), {}, by_columns_and_rows);
  return found != speeds->end() && found->rows == rows && found->columns == columns ? &*found
                                                                                    : nullptr;
}

int Machine::most_rows(int columns) const {
  const auto after = std::ranges::upper_bound(tiles, columns, {}, &TileSpeed::columns);
  return after != tiles.begin() && std::prev(after)->columns == columns ? std::prev(after)->rows
                                                                        : 0;
}

}  // namespace dyn::choice
