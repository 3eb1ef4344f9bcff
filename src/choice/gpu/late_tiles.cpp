#include "src/choice/gpu/late_tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <queue>
#include <tuple>

#include "src/base/rounding.hpp"
#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/gpu/tile_profile.hpp"

namespace dyn::choice {
namespace {

constexpr std::size_t most_late = 128;
constexpr double least_late_gain = 2e-6;  ///< of the mean logarithm
constexpr int most_late_warps = 8, largest_late_block = 256;
constexpr int multiples_of_warps[] = {1, 2, 3, 4, 6, 8};
constexpr int rows_of_lanes[] = {1, 2, 3, 4, 6, 8};
constexpr int multiples_of_steps[] = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::size_t most_remembered = 8;

/// For one block and depth: which of its warps are fastest alone on a multiprocessor, which where
/// they fill it, and which where they do and copy by element.
struct FastestWarps {
  static constexpr RatedTile none{{}, std::numeric_limits<double>::infinity()};
  RatedTile alone = none, full = none, by_element = none;
};

void keep_faster(RatedTile& kept, const RatedTile& other) {
  if (other.seconds < kept.seconds) kept = other;
}

/// The seconds of a stage, over the blocks that share it.
double stage_seconds(const GpuMachine& machine, const GpuContraction& form, const GpuTile& tile,
                     int resident) {
  const GpuBlockRates rates = block_rates(machine, form, tile, resident);
  return std::max({rates.stage, tile.block_m * rates.row + tile.block_n * rates.column,
                   rates.least_load}) /
         resident;
}

// More than two stages are no use to a block that waits for its copies.
RatedTile with_two_stages(const GpuMachine& machine, GpuTile tile) {
  tile.stages = 2;
  tile.ahead = false;
  GpuContraction form = timed_form(tile, tile.block_k);
  form.a_vectors = form.b_vectors = false;
  return {tile, stage_seconds(machine, form, tile, program_occupancy(machine, {&tile, 1}).blocks)};
}

// Narrow outputs have lanes of few columns too.
std::vector<GpuTile> late_warps(const GpuKind& kind) {
  std::vector<GpuTile> warps = warps_by_isa(kind);
  if (kind.engine == Engine::TensorCores) return warps;
  for (const int lane_rows : {16, 32}) {
    for (const int rows : rows_of_lanes) {
      for (const int columns : {4, 8})
        if (registers_hold(rows, columns)) warps.push_back(cuda_warp(lane_rows, rows, columns));
    }
  }
  return warps;
}

std::vector<GpuTile> fastest_of_all(const GpuMachine& machine, const GpuKind& kind) {
  std::map<std::tuple<int, int, int>, FastestWarps> blocks;
  for (GpuTile tile : late_warps(kind)) {
    for (const int rows : multiples_of_warps) {
      for (const int columns : multiples_of_warps) {
        tile.block_m = rows * tile.warp_m;
        tile.block_n = columns * tile.warp_n;
        if (rows * columns > most_late_warps ||
            std::max(tile.block_m, tile.block_n) > largest_late_block)
          continue;
        for (const int steps : multiples_of_steps) {
          tile.block_k = steps * depth_granule(kind);
          const auto rated = with_stages(machine, tile);
          if (!rated) break;
          FastestWarps& fastest = blocks[{tile.block_m, tile.block_n, tile.block_k}];
          keep_faster(fastest.full, *rated);
          keep_faster(fastest.alone,
                      {rated->tile,
                       stage_seconds(machine, timed_form(tile, tile.block_k), rated->tile, 1)});
          keep_faster(fastest.by_element, with_two_stages(machine, tile));
        }
      }
    }
  }
  std::vector<GpuTile> tiles;
  for (const auto& [block, fastest] : blocks) {
    tiles.push_back(fastest.full.tile);
    if (fastest.alone.tile != tiles.back()) tiles.push_back(fastest.alone.tile);
    if (fastest.by_element.tile != tiles.back() && fastest.by_element.tile != fastest.full.tile)
      tiles.push_back(fastest.by_element.tile);
  }
  return tiles;
}

/// Points that fill a cube of four dimensions evenly: multiples of the inverse powers of the number
/// that is its fifth power less one (Roberts, "The unreasonable effectiveness of quasirandom
/// sequences", 2018).
std::array<double, 4> even_point(int index) {
  constexpr double root = 1.1673039782614187;
  std::array<double, 4> point{};
  double step = 1;
  for (double& coordinate : point) {
    step /= root;
    coordinate = std::fmod(0.5 + step * (index + 1), 1.0);
  }
  return point;
}

constexpr int synthetic_count = 240;
constexpr double synthetic_rows = 16, synthetic_columns = 13, least_depth = 3, synthetic_depth = 10,
                 synthetic_batch = 8, batched_size = 10;  ///< logarithms to base 2

/// Sizes of real problems are often multiples of 16 along some axes.
std::vector<GpuContraction> synthetic_sizes() {
  std::vector<GpuContraction> all;
  for (int i = 0; i < synthetic_count; ++i) {
    const auto [rows, columns, depth, batch] = even_point(i);
    const bool batched = i % 3 == 0;
    const auto size = [&](double exponent, bool round) {
      const std::int64_t value = std::llround(std::exp2(exponent));
      return round ? round_up(value, 16) : value;
    };
    all.push_back({.batch = batched ? size(batch * synthetic_batch, false) : 1,
                   .m = size(rows * (batched ? batched_size : synthetic_rows), i % 4 == 1),
                   .n = size(columns * (batched ? batched_size : synthetic_columns), i % 2 == 1),
                   .k = size(least_depth + depth * synthetic_depth, i % 4 < 2)});
  }
  return all;
}

using Costs = std::vector<float>;  ///< logarithms of seconds, for each form and sizes

Costs costs_of(const GpuMachine& machine, const GpuTile& tile,
               const std::vector<GpuContraction>& sizes) {
  Costs costs;
  costs.reserve(4 * sizes.size());
  for (const bool a_vectors : {false, true}) {
    for (const bool b_vectors : {false, true}) {
      GpuContraction form = timed_form(tile, tile.block_k);
      form.a_vectors = a_vectors, form.b_vectors = b_vectors;
      form.epilogue_bytes = form.a_element_bytes;
      const GpuTileProfile profile(machine, form, tile);
      for (const GpuContraction& each : sizes)
        costs.push_back(std::log(static_cast<float>(profile.least_seconds(each))));
    }
  }
  return costs;
}

float gain_over(const Costs& best, const Costs& other) {
  float gain = 0;
  for (std::size_t i = 0; i < best.size(); ++i) gain += std::max(0.0f, best[i] - other[i]);
  return gain;
}

// Gains only shrink as tiles are added, so that an old one is a bound: few are computed anew.
std::vector<GpuTile> best_beside(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                                 const std::vector<GpuTile>& candidates) {
  const std::vector<GpuContraction> sizes = synthetic_sizes();
  Costs best(4 * sizes.size(), std::numeric_limits<float>::max());
  const auto take = [&](const Costs& costs) {
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], costs[i]);
  };
  for (const GpuTile& tile : candidates) take(costs_of(machine, tile, sizes));
  std::vector<Costs> costs;
  struct Gain {
    float bound;
    std::size_t tile, kept;  ///< kept: tiles at the time of the bound
    bool operator<(const Gain& other) const {
      return std::tie(bound, other.tile) < std::tie(other.bound, tile);
    }
  };
  std::priority_queue<Gain> gains;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    costs.push_back(costs_of(machine, tiles[i], sizes));
    gains.push({gain_over(best, costs[i]), i, 0});
  }
  std::vector<GpuTile> kept;
  const auto least = static_cast<float>(least_late_gain * static_cast<double>(best.size()));
  while (kept.size() < most_late && !gains.empty() && gains.top().bound > least) {
    const Gain top = gains.top();
    gains.pop();
    if (top.kept < kept.size()) {
      gains.push({gain_over(best, costs[top.tile]), top.tile, kept.size()});
      continue;
    }
    kept.push_back(tiles[top.tile]);
    take(costs[top.tile]);
  }
  return kept;
}

}  // namespace

std::shared_ptr<const std::vector<GpuTile>> late_gpu_tiles(const GpuMachine& machine,
                                                           const std::vector<GpuTile>& candidates) {
  struct Made {
    GpuMachine machine;
    std::vector<GpuTile> candidates;
    std::shared_ptr<const std::vector<GpuTile>> late;
  };
  static std::mutex mutex;
  static std::deque<Made> remembered;
  GpuMachine described = machine;
  described.measured = nullptr;
  const std::lock_guard lock(mutex);
  for (const Made& made : remembered)
    if (made.machine == described && made.candidates == candidates) return made.late;
  auto late = std::make_shared<std::vector<GpuTile>>();
  if (!candidates.empty()) {
    const GpuKind kind = kinds_of(candidates).front();
    *late = best_beside(described, fastest_of_all(described, kind), candidates);
  }
  if (remembered.size() == most_remembered) remembered.pop_front();
  remembered.push_back({described, candidates, late});
  return late;
}

}  // namespace dyn::choice
