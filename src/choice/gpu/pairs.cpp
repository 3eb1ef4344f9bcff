#include <algorithm>
#include <cmath>

#include "src/choice/gpu/programs.hpp"

namespace dyn::choice {
namespace {

constexpr std::size_t most_pairs = 2;
constexpr double least_pair_gain = 1e-3;  ///< of the mean logarithm, for which one more is kept
constexpr double pair_size_factor = 1.4;
constexpr std::int64_t least_pair_size = 64, most_pair_size = 8192, pair_depth = 1024;

std::vector<GpuPair> all_pairs(const GpuMachine& machine, const std::vector<GpuTile>& tiles) {
  std::vector<GpuPair> pairs;
  const auto area = [&](std::size_t i) { return tiles[i].block_m * tiles[i].block_n; };
  for (std::size_t first = 0; first < tiles.size(); ++first) {
    for (std::size_t second = 0; second < tiles.size(); ++second) {
      const GpuTile &a = tiles[first], &b = tiles[second];
      if (first == second || area(first) < area(second) ||
          (area(first) == area(second) && first > second))
        continue;
      if (a.engine != tiles.front().engine || b.engine != a.engine || a.operands != b.operands ||
          a.threads() != b.threads())
        continue;
      const GpuTile both[] = {a, b};
      if (program_occupancy(machine, both).blocks > 0) pairs.push_back({first, second});
    }
  }
  return pairs;
}

std::vector<GpuContraction> synthetic(const GpuTile& tile) {
  std::vector<GpuContraction> shapes;
  const double bytes = static_cast<double>(size_of(tile.operands));
  for (double m = least_pair_size; m <= most_pair_size; m *= pair_size_factor) {
    for (std::int64_t n = 2 * least_pair_size; n <= most_pair_size / 2; n *= 2) {
      shapes.push_back({.m = std::llround(m),
                        .n = n,
                        .k = pair_depth,
                        .a_element_bytes = bytes,
                        .b_element_bytes = bytes});
    }
  }
  return shapes;
}

}  // namespace

std::vector<GpuPair> gpu_pairs(const GpuMachine& machine, const std::vector<GpuTile>& tiles) {
  std::vector<GpuPair> kept;
  if (tiles.empty()) return kept;
  const std::vector<GpuPair> pairs = all_pairs(machine, tiles);
  const std::vector<GpuContraction> shapes = synthetic(tiles.front());
  // How much each pair saves at each size, as logarithms.
  std::vector<std::vector<double>> savings(pairs.size());
  for (const GpuContraction& shape : shapes) {
    const auto shape_for = [&](const GpuTile&) { return shape; };
    const GpuChoice alone = select_gpu_tile(machine, shape_for, tiles);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      double least = alone.seconds;
      const auto visit = [&](const GpuProgram& program) {
        least = std::min(least, program.seconds);
      };
      for_each_gpu_cut(machine, shape_for, tiles, {pairs[i]},
                       tiles[static_cast<std::size_t>(alone.tile)], visit);
      savings[i].push_back(std::log(alone.seconds / least));
    }
  }
  std::vector<double> best(shapes.size(), 0);
  while (kept.size() < most_pairs) {
    std::size_t next = pairs.size();
    double most = least_pair_gain * static_cast<double>(shapes.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      double gain = 0;
      for (std::size_t j = 0; j < shapes.size(); ++j)
        gain += std::max(0.0, savings[i][j] - best[j]);
      if (gain > most) most = gain, next = i;
    }
    if (next == pairs.size()) break;
    kept.push_back(pairs[next]);
    for (std::size_t j = 0; j < shapes.size(); ++j) best[j] = std::max(best[j], savings[next][j]);
  }
  return kept;
}

}  // namespace dyn::choice
