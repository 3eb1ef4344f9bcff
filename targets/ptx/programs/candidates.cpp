#include "targets/ptx/programs/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "targets/ptx/tile/problem_tile.hpp"

namespace dyn::ptx {

using choice::GpuMachine;
using choice::GpuTile;
using rkernel::Problem;

// Threads walk down columns of windows: a row's elements, or chunks of 4 or 16 bytes, are divided
// among them, or they among these.
bool copies_windows(const GpuTile& tile) {
  const int bytes = tile.block_k * static_cast<int>(size_of(tile.operands));
  return std::ranges::all_of(std::array{tile.block_k, bytes / 4, bytes / 16}, [&](int units) {
    return units > 0 && (tile.threads() % units == 0 || units % tile.threads() == 0);
  });
}

std::optional<GpuTile> tile_for(const GpuTile& tile, const Problem& problem,
                                const GpuMachine& machine) {
  const GpuTile own = for_problem(tile, problem);
  if (!can_have(problem, own)) return std::nullopt;
  if (own.window_entry_bytes == 0) return own;
  const int blocks =
      choice::occupancy(machine, own.threads(), own.registers(), own.shared_bytes()).blocks;
  if (blocks == 0 || !copies_windows(own)) return std::nullopt;
  return own;
}

Candidates candidates_of(const Problem& problem, const GpuMachine& machine,
                         const std::vector<GpuTile>& tiles,
                         const std::vector<choice::GpuPair>& pairs) {
  Candidates candidates;
  std::map<std::size_t, std::size_t> kept;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::optional<GpuTile> tile = tile_for(tiles[i], problem, machine);
    if (!tile) continue;
    kept[i] = candidates.tiles.size();
    candidates.tiles.push_back(*tile);
  }
  for (const choice::GpuPair& pair : pairs) {
    if (kept.contains(pair.first) && kept.contains(pair.second))
      candidates.pairs.push_back({kept.at(pair.first), kept.at(pair.second)});
  }
  return candidates;
}

std::vector<choice::GpuPair> useful_pairs(const Problem& problem, const GpuMachine& machine,
                                          const std::vector<GpuTile>& tiles,
                                          std::vector<choice::GpuPair> pairs) {
  std::erase_if(pairs, [&](const choice::GpuPair& pair) {
    const GpuTile& first = tiles.at(pair.first);
    double blocks = 1;
    for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
      if (axis == problem.contraction->k) continue;
      const int block = axis == problem.contraction->m   ? first.block_m
                        : axis == problem.contraction->n ? first.block_n
                                                         : 1;
      blocks *=
          std::ceil(static_cast<double>(
                        graph::bounds(problem.axes[static_cast<std::size_t>(axis)].extent).high) /
                    block);
    }
    const GpuTile both[] = {first, tiles.at(pair.second)};
    return blocks <= static_cast<double>(machine.multiprocessors) *
                         choice::program_occupancy(machine, both).blocks;
  });
  return pairs;
}

}  // namespace dyn::ptx
