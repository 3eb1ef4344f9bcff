#include "targets/ptx/programs/tile_table.hpp"

#include <mutex>

namespace dyn::ptx {

TileTable::TileTable(const std::vector<choice::GpuTile>& first)
    : tiles_(first.begin(), first.end()) {
  for (std::size_t i = 0; i < first.size(); ++i) numbers_.try_emplace(first[i], i);
}

std::size_t TileTable::number_of(const choice::GpuTile& tile) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = numbers_.find(tile); known != numbers_.end()) return known->second;
  }
  const std::unique_lock lock(mutex_);
  const auto [known, fresh] = numbers_.try_emplace(tile, tiles_.size());
  if (fresh) tiles_.push_back(tile);
  return known->second;
}

const choice::GpuTile& TileTable::at(std::size_t number) const {
  const std::shared_lock lock(mutex_);
  return tiles_.at(number);
}

std::vector<choice::GpuTile> TileTable::all() const {
  const std::shared_lock lock(mutex_);
  return {tiles_.begin(), tiles_.end()};
}

}  // namespace dyn::ptx
