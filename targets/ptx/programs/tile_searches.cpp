#include "targets/ptx/programs/tile_searches.hpp"

namespace dyn::ptx {

using choice::GpuContraction;
using choice::GpuTile;

TileSearches::Search TileSearches::shared(const std::vector<GpuTile>& tiles,
                                          const choice::GpuShapeFor& shape_for,
                                          const std::function<Search()>& make) {
  if (tiles.empty()) return make();
  const auto without_sizes = [&](const GpuTile& tile) {
    GpuContraction form = shape_for(tile);
    form.batch = form.m = form.n = form.k = 0;
    return form;
  };
  const GpuContraction first = without_sizes(tiles.front()), last = without_sizes(tiles.back());
  const std::lock_guard lock(mutex_);
  for (const Known& known : known_)
    if (known.first == first && known.last == last && known.tiles == tiles) return known.search;
  known_.push_back({tiles, first, last, make()});
  return known_.back().search;
}

}  // namespace dyn::ptx
