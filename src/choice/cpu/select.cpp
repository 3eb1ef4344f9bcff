#include "src/choice/cpu/select.hpp"

#include <algorithm>
#include <limits>

#include "src/base/inline_vector.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/cost/block_sizes.hpp"
#include "src/choice/cost/rest_columns.hpp"
#include "src/choice/cpu/cover_select.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t smallest_block_k = 512;

// Sizes of one axis, at most: those of make_candidates(), the whole, and two equal parts for the
// threads.
constexpr std::size_t most_fixed = 5, most_sizes = most_fixed + 3;
using CandidateSizes = InlineVector<std::int64_t, most_sizes>;

// The distinct block sizes for an extent: the whole, equal parts for the threads, and the fixed
// candidates below it.
CandidateSizes block_sizes(std::int64_t extent, const std::vector<std::int64_t>& fixed,
                           std::int64_t unit, int threads) {
  CandidateSizes sizes;
  sizes.push_back(std::max<std::int64_t>(extent, 1));
  const auto add = [&](std::int64_t size) {
    if (size > 0 && size < extent && std::find(sizes.begin(), sizes.end(), size) == sizes.end())
      sizes.push_back(size);
  };
  for (int parts = 1; parts <= 2; ++parts) {
    if (threads * parts > 1) add(ceil_div(ceil_div(extent, unit), threads * parts) * unit);
  }
  for (const std::int64_t size : fixed) add(size * unit);
  return sizes;
}

// Tiles of several panels are for few rows: with more, a taller tile of one panel has as many
// accumulators and reads less.
bool worth_considering(const Machine& machine, const rkernel::Strategy& tile,
                       const ContractionShape& shape) {
  if (tile.tile_columns == machine.panel) return true;
  return shape.m <= 2 * tile.tile_rows && shape.n > tile.tile_columns - machine.panel;
}

std::vector<rkernel::Strategy> tiles_for(const Machine& machine, const CandidateSet& candidates,
                                         const ContractionShape& shape) {
  if (shape.lanes == rkernel::LaneAxis::K) {
    rkernel::Strategy tile;
    tile.tile_rows = machine.dot_rows.at(static_cast<std::size_t>(shape.n));
    tile.tile_columns = machine.panel;
    return {tile};
  }
  std::vector<rkernel::Strategy> tiles;
  for (rkernel::Strategy tile : candidates.tiles) {
    tile.tile_rows = machine.fastest_rows(tile.tile_columns, shape.factors());
    if (!worth_considering(machine, tile, shape)) continue;
    if (tile.tile_columns == machine.panel && shape.inlined_rows > 0)
      tile.tile_rows = shape.inlined_rows;
    tiles.push_back(tile);
    // A lower tile may compute the panels of all right sides at once.
    if (shape.right_sides > 1 && tile.tile_columns == machine.panel) {
      rkernel::Strategy together = tile;
      together.tile_rows = machine.most_rows(machine.panel * shape.right_sides);
      if (together.tile_rows > 0 &&
          together.tile_rows < std::min<std::int64_t>(tile.tile_rows, shape.m))
        tiles.push_back(together);
    }
    // A lower tile may do without a copy of A.
    const auto lower = static_cast<int>(rows_without_conflicts(machine));
    if (lower >= tile.tile_rows || shape.m <= lower || shape.must_copy_a ||
        !copies_may_pay(machine, shape, tile))
      continue;
    tile.tile_rows = lower;
    tiles.push_back(tile);
  }
  // Wider tiles come first and win ties: they read longer runs of B at once.
  std::ranges::reverse(tiles);
  return tiles;
}

// Slices of K for blocks that are fewer than the threads, each deep enough to pay for its sums.
InlineVector<std::int64_t, 3> slices_for(const Machine& machine, const ContractionShape& shape,
                                         const rkernel::Strategy& strategy, int threads) {
  const std::int64_t least_slice = machine.fitted.least_slice_depth;
  InlineVector<std::int64_t, 3> slices;
  slices.push_back(
      shape.lanes == rkernel::LaneAxis::M ? 1 : std::max<std::int64_t>(shape.fixed_slices, 1));
  if (shape.lanes == rkernel::LaneAxis::M || shape.fixed_slices > 0) return slices;
  const std::int64_t blocks =
      shape.batch * ceil_div(shape.m, strategy.block_m) * ceil_div(shape.n, strategy.block_n);
  if (blocks <= 0 || blocks >= threads) return slices;
  const std::int64_t enough = std::min(ceil_div(threads, blocks), shape.k / least_slice);
  for (const std::int64_t count : {enough, 2 * enough}) {
    if (count > 1 && shape.k / count >= least_slice) slices.push_back(count);
  }
  return slices;
}

}  // namespace

CandidateSet make_candidates(const Machine& machine) {
  CandidateSet set;
  for (int columns = machine.panel; machine.most_rows(columns) > 0; columns *= 2) {
    rkernel::Strategy strategy;
    strategy.tile_rows = machine.most_rows(columns);
    strategy.tile_columns = columns;
    set.tiles.push_back(strategy);
  }
  // Depths at which a panel's part stays in half of L2 and a row tile's in half of L1.
  const std::int64_t l2_bytes =
      machine.levels.size() > 1 ? machine.levels[1].bytes : machine.levels[0].bytes;
  for (std::int64_t depth = smallest_block_k;
       depth * machine.panel * 4 <= l2_bytes / 2 && set.blocks_k.size() < most_fixed; depth *= 4)
    set.blocks_k.push_back(depth);
  // Blocks of more rows come first and win ties: they read B less often.
  for (std::int64_t tiles = 16; tiles >= 1; tiles /= 4) set.blocks_m.push_back(tiles);
  for (std::int64_t panels = 4; panels <= 16; panels *= 4) set.blocks_n.push_back(panels);
  return set;
}

void for_each_strategy(const Machine& machine, const CandidateSet& candidates,
                       const ContractionShape& shape, int threads,
                       const std::function<void(const rkernel::Strategy&)>& visit,
                       const std::function<bool(const rkernel::Strategy&)>& worth) {
  const CandidateSizes blocks_n = block_sizes(shape.n, candidates.blocks_n, machine.panel, threads);
  CandidateSizes blocks_k;
  blocks_k.push_back(std::max<std::int64_t>(shape.k, 1));
  for (const std::int64_t depth : candidates.blocks_k) {
    if (depth < shape.k) blocks_k.push_back(depth);
  }
  for (const rkernel::Strategy& tile : tiles_for(machine, candidates, shape)) {
    for (const std::int64_t block_m :
         block_sizes(shape.m, candidates.blocks_m, tile.tile_rows, threads)) {
      for (const std::int64_t block_n : blocks_n) {
        rkernel::Strategy strategy = tile;
        strategy.block_m = block_m;
        strategy.block_n = block_n;
        strategy.block_k = blocks_k.front();
        strategy.lanes = shape.lanes;
        if (worth && !worth(strategy)) continue;
        for (const std::int64_t block_k : blocks_k) {
          strategy.block_k = block_k;
          for (const std::int64_t slices : slices_for(machine, shape, strategy, threads)) {
            strategy.split_k = slices;
            for_each_form(shape, strategy, visit);
          }
        }
      }
    }
  }
}

void for_each_choice(const Machine& machine, const CandidateSet& candidates,
                     const ContractionShape& shape, int threads,
                     const std::function<void(const Choice&)>& visit) {
  for (const int active : threads > 1 ? std::vector{1, threads} : std::vector{1}) {
    const double overhead = active > 1 ? machine.seconds_per_wakeup : 0;
    for_each_strategy(machine, candidates, shape, active, [&](rkernel::Strategy strategy) {
      for (const bool dot_rest : {false, true}) {
        if (dot_rest && rest_columns(machine, shape) == 0) continue;
        strategy.dot_rest = dot_rest;
        visit({{{{0, shape.m, 0, shape.n, strategy}}},
               active,
               contraction_cost(machine, shape, strategy, active) + overhead,
               0});
      }
    });
  }
}

Choice select(const Machine& machine, const CandidateSet& candidates, const ContractionShape& shape,
              int threads) {
  Choice best;
  rkernel::Strategy best_strategy;
  BlockSizer sizes(machine, shape);
  const bool has_rest = rest_columns(machine, shape) > 0;
  const auto cuts_k = [&](const rkernel::Strategy& strategy) { return strategy.block_k < shape.k; };
  // What a strategy must undercut, without its overhead. Sums that wait for another part of K lose
  // ties.
  const auto worth_less_than = [&](double overhead, bool cuts) {
    if (best.considered == 0) return std::numeric_limits<double>::infinity();
    return best.seconds * (cuts_k(best_strategy) && !cuts ? 1 : 1 - machine.fitted.tie) - overhead;
  };
  const auto consider = [&](int active, double overhead) {
    const auto visit = [&](rkernel::Strategy strategy) {
      if (strategy.copy_a && !copies_may_pay(machine, shape, strategy)) return;
      const double enough = worth_less_than(overhead, cuts_k(strategy));
      double seconds =
          contraction_cost(machine, shape, strategy, sizes.of(strategy), active, nullptr, enough) +
          overhead;
      if (has_rest) {
        strategy.dot_rest = true;
        const double with_dots = contraction_cost(machine, shape, strategy, sizes.of(strategy),
                                                  active, nullptr, enough) +
                                 overhead;
        strategy.dot_rest = with_dots < seconds;
        seconds = std::min(seconds, with_dots);
      }
      ++best.considered;
      if (seconds < enough + overhead) {
        best.seconds = seconds;
        best.threads = active;
        best_strategy = strategy;
      }
    };
    for_each_strategy(
        machine, candidates, shape, active, visit, [&](const rkernel::Strategy& blocks) {
          const double enough = worth_less_than(overhead, false);
          return least_cost(machine, shape, blocks, sizes.of(blocks), active, enough) < enough;
        });
  };
  if (threads > 1) consider(threads, machine.seconds_per_wakeup);
  // Sums of fixed slices that other threads wrote come to the second stage line by line, which
  // costs more the more there are. What one thread spares, a wake-up, is a tie for longer problems.
  if (threads == 1 || shape.fixed_slices > 1 ||
      best.seconds * machine.fitted.tie < machine.seconds_per_wakeup)
    consider(1, 0);
  best.program.regions = {{0, shape.m, 0, shape.n, best_strategy}};
  if (auto cover = select_cover(machine, shape, best)) return *std::move(cover);
  return best;
}

}  // namespace dyn::choice
