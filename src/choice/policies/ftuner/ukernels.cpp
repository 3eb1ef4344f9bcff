#include "src/choice/policies/ftuner/ukernels.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr double rounding = 1e-6;  ///< of steps

void add_divisors(std::int64_t extent, std::set<std::int64_t>& divisors) {
  for (std::int64_t divisor = 1; divisor * divisor <= extent; ++divisor) {
    if (extent % divisor != 0) continue;
    divisors.insert(divisor);
    divisors.insert(extent / divisor);
  }
}

std::int64_t count_of(const BlockKernel& block, const ProductShape& shape) {
  return blocks_of(shape, {block.rows, block.columns, 1});
}

bool overflows(const Machine& machine, const BlockKernel& block) {
  return ((block.rows + block.columns) * block.depth + block.rows * block.columns) * float_bytes >
         block_memory(machine).bytes;
}

std::int64_t deepest(const Machine& machine, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::int64_t depth = line_floats;
  while (depth < k && !overflows(machine, {.rows = m, .columns = n, .depth = 2 * depth}))
    depth *= 2;
  const std::int64_t all = std::max<std::int64_t>(k, 1);
  return round_up(ceil_div(all, ceil_div(all, depth)), line_floats);
}

}  // namespace

std::vector<std::int64_t> axis_factors(std::int64_t extent, std::int64_t most_tile) {
  std::set<std::int64_t> divisors;
  add_divisors(extent, divisors);
  if (extent > most_tile && 2 * *std::prev(divisors.upper_bound(most_tile)) <= most_tile) {
    add_divisors(extent - 1, divisors);
    add_divisors(extent + 1, divisors);
  }
  return {divisors.begin(), divisors.end()};
}

std::vector<BlockKernel> aligned_ukernels(const Machine& machine, const ProductShape& shape) {
  int widest = machine.panel;
  for (const TileSpeed& tile : machine.tiles) widest = std::max(widest, tile.columns);
  const std::vector<std::int64_t> rows = axis_factors(shape.m, machine.most_rows(machine.panel)),
                                  columns = axis_factors(ceil_div(shape.n, machine.panel),
                                                         widest / machine.panel);
  const auto divides = [](const std::vector<std::int64_t>& factors, std::int64_t tile) {
    return std::ranges::binary_search(factors, tile);
  };
  std::vector<TileSpeed> tiles;
  std::ranges::copy_if(machine.tiles, std::back_inserter(tiles), [&](const TileSpeed& tile) {
    return tile.columns >= machine.panel && divides(rows, tile.rows) &&
           divides(columns, tile.columns / machine.panel);
  });
  std::vector<BlockKernel> aligned;
  for (const std::int64_t m : rows) {
    for (const std::int64_t panels : columns) {
      const std::int64_t n = panels * machine.panel, k = deepest(machine, m, n, shape.k);
      for (const TileSpeed& tile : tiles) {
        if (m % tile.rows == 0 && n % tile.columns == 0)
          aligned.push_back({tile.rows, tile.columns, m, n, k});
      }
    }
  }
  return aligned;
}

std::vector<std::size_t> cross_pick(const std::vector<MicroKernel>& fitting,
                                    const ProductShape& shape, std::int64_t units,
                                    const FTunerParameters& parameters) {
  std::vector<std::size_t> picked;
  std::vector<double> occupied;
  for (const MicroKernel& block : fitting) {
    const double pad = useful_share({shape.batch, shape.m, shape.n, 0}, block),
                 occ = occupied_share(blocks_of(shape, block), units);
    occupied.push_back(occ);
    // The last step whose epsilon the padding reaches has the least lambda.
    const double steps = std::floor(
        std::min({(parameters.most_pad - parameters.least_pad) / parameters.pad_stride + rounding,
                  (parameters.most_occ - parameters.least_occ) / parameters.occ_stride + rounding,
                  (pad - parameters.least_pad) / parameters.pad_stride + rounding}));
    if (steps >= 0 && occ >= parameters.most_occ - steps * parameters.occ_stride - rounding)
      picked.push_back(occupied.size() - 1);
  }
  if (!picked.empty() || fitting.empty()) return picked;
  const double most = *std::ranges::max_element(occupied);
  for (std::size_t i = 0; i < occupied.size(); ++i)
    if (occupied[i] >= most) picked.push_back(i);
  return picked;
}

std::vector<BlockKernel> cross_pick(const Machine& machine, const std::vector<BlockKernel>& aligned,
                                    const ProductShape& shape, const FTunerParameters& parameters) {
  std::vector<BlockKernel> fitting, picked;
  std::vector<MicroKernel> blocks;
  for (const BlockKernel& block : aligned) {
    if (overflows(machine, block)) continue;
    fitting.push_back(block);
    blocks.push_back({block.rows, block.columns, block.depth});
  }
  for (const std::size_t i : cross_pick(blocks, shape, machine.threads, parameters))
    picked.push_back(fitting[i]);
  return picked;
}

double compute_efficiency(const Machine& machine, const BlockKernel& block, std::int64_t k,
                          const rkernel::Factors& factors) {
  const TileSpeed* tile = machine.find_tile(block.tile_rows, block.tile_columns, factors);
  const double depth = static_cast<double>(std::max<std::int64_t>(k, 1)),
               sums = static_cast<double>(block.rows * block.columns);
  const double global = (static_cast<double>(block.rows + block.columns) * depth + sums) *
                        float_bytes /
                        machine.bandwidth_per_thread(machine.levels.size() - 1, machine.threads);
  const double of_tiles = block.tiles() * (block.tile_rows + block.tile_columns) * depth;
  const double shared = (of_tiles + sums * (2 * static_cast<double>(block.steps(k)) - 1)) *
                        float_bytes /
                        machine.bandwidth_per_thread(
                            std::min<std::size_t>(1, machine.levels.size() - 1), machine.threads);
  return block.tiles() * depth * tile->seconds_per_k / std::max(global, shared);
}

std::vector<BlockKernel> ftuner_ukernels(const Machine& machine, const ProductShape& shape,
                                         const rkernel::Factors& factors,
                                         const FTunerParameters& parameters) {
  if (!has_outputs(shape)) return {};
  std::vector<BlockKernel> kept =
      cross_pick(machine, aligned_ukernels(machine, shape), shape, parameters);
  kept = filtered(
      kept, [&](const BlockKernel& block) { return count_of(block, shape) >= machine.threads; });
  return filtered(kept, [&](const BlockKernel& block) {
    return compute_efficiency(machine, block, shape.k, factors) >= parameters.psi;
  });
}

}  // namespace dyn::choice
