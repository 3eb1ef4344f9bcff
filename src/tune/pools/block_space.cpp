#include "src/tune/pools/block_space.hpp"

#include <algorithm>
#include <set>

#include "src/base/bytes.hpp"
#include "src/choice/policies/shared/block_kernels.hpp"

namespace dyn::tune {
namespace {

using choice::BlockKernel;
using choice::Machine;

constexpr double nearly_as_fast = 0.9;
const std::vector<std::int64_t> row_tiles{1,  2,  3,  4,  6,  8,   12,  16,
                                          24, 32, 48, 64, 96, 128, 192, 256},
    column_tiles{1, 2, 3, 4, 6, 8, 12, 16}, depths{32, 64, 128, 256, 512, 1024, 2048, 0};

enum Axis : std::uint8_t { TileColumns, TileRows, RowTiles, ColumnTiles, Depth };

std::int64_t bytes_held(const BlockKernel& block) {
  return ((block.rows + block.columns) * block.depth + block.rows * block.columns) * float_bytes;
}

double speed_of(const choice::TileSpeed& tile) {
  return static_cast<double>(tile.rows * tile.columns) / tile.seconds_per_k;
}

/// The greatest depth of the space for which `fits` holds; the least where it holds for none.
template <class Fits>
std::int64_t deepest(const Fits& fits) {
  std::int64_t deepest = depths.front();
  for (const std::int64_t depth : depths) {
    if (depth > deepest && fits(depth)) deepest = depth;
  }
  return deepest;
}

std::int64_t room_of_block(const Machine& machine) {
  return choice::block_memory(machine).bytes / 4 * 3;
}

double unmet_by(const Machine& machine, double fastest, const BlockKernel& block) {
  const choice::TileSpeed& tile = *machine.find_tile(block.tile_rows, block.tile_columns);
  const bool is_slow = speed_of(tile) < nearly_as_fast * fastest;
  const bool is_full = bytes_held(block) > room_of_block(machine);
  return (is_slow ? 1 : 0) + (is_full ? 1 : 0);
}

Values values_of(const BlockKernel& block) {
  return {block.tile_columns, block.tile_rows, block.rows / block.tile_rows,
          block.columns / block.tile_columns, block.depth};
}

}  // namespace

std::vector<BlockKernel> aligned_blocks(const Machine& machine) {
  constexpr std::size_t ways = 3;
  std::vector<BlockKernel> blocks = choice::block_kernels(machine);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    BlockKernel& block = blocks[i];
    if (i % ways == 1) {
      block.depth = deepest([&](std::int64_t depth) {
        BlockKernel deeper = block;
        deeper.depth = depth;
        return bytes_held(deeper) <= room_of_block(machine);
      });
    } else if (i % ways == 2) {
      block.depth = deepest([&](std::int64_t depth) {
        return (block.tile_rows + block.tile_columns) * depth * float_bytes <=
               machine.levels.front().bytes / 2;
      });
    }
  }
  return blocks;
}

BlockKernel block_at(const Values& values) {
  const auto rows = static_cast<int>(values[TileRows]),
             columns = static_cast<int>(values[TileColumns]);
  return {rows, columns, rows * values[RowTiles], columns * values[ColumnTiles], values[Depth]};
}

Space block_space(const Machine& machine, const std::vector<BlockKernel>& seeds) {
  std::set<std::int64_t> rows, columns;
  double fastest = 0;
  for (const choice::TileSpeed& tile : machine.tiles) {
    if (tile.columns % machine.panel != 0) continue;
    rows.insert(tile.rows);
    columns.insert(tile.columns);
    fastest = std::max(fastest, speed_of(tile));
  }
  Space space;
  space.parameters = {{"tile columns", {columns.begin(), columns.end()}},
                      {"tile rows", {rows.begin(), rows.end()}},
                      {"tiles along M", row_tiles},
                      {"tiles along N", column_tiles},
                      {"depth", depths}};
  space.allowed = [&machine](const Values& values) {
    const BlockKernel block = block_at(values);
    return machine.find_tile(block.tile_rows, block.tile_columns) != nullptr;
  };
  space.fits = [&machine](const Values& values) {
    return bytes_held(block_at(values)) <= choice::block_memory(machine).bytes;
  };
  space.unmet = [&machine, fastest](const Values& values) {
    return unmet_by(machine, fastest, block_at(values));
  };
  for (const BlockKernel& seed : seeds) space.seeds.push_back(values_of(seed));
  return space;
}

}  // namespace dyn::tune
