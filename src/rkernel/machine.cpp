#include "src/rkernel/machine.hpp"

#include <algorithm>

namespace dyn::rkernel {

double Machine::bandwidth_per_thread(std::size_t level, int active) const {
  const std::vector<double>& figures = levels[level].bandwidth;
  const std::size_t index = std::min(static_cast<std::size_t>(std::max(active, 1)), figures.size()) - 1;
  return figures[index] / static_cast<double>(index + 1);
}

std::size_t Machine::level_of(std::int64_t bytes) const {
  for (std::size_t level = 0; level + 1 < levels.size(); ++level) {
    if (bytes <= levels[level].bytes) return level;
  }
  return levels.size() - 1;
}

const TileSpeed* Machine::find_tile(int rows, int columns, DType weights) const {
  const auto narrow = narrow_tiles.find(weights);
  for (const TileSpeed& tile : narrow == narrow_tiles.end() ? tiles : narrow->second) {
    if (tile.rows == rows && tile.columns == columns) return &tile;
  }
  return nullptr;
}

int Machine::most_rows(int columns) const {
  int most = 0;
  for (const TileSpeed& tile : tiles) {
    if (tile.columns == columns) most = std::max(most, tile.rows);
  }
  return most;
}

}  // namespace dyn::rkernel
