#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "src/choice/calibration/calibration.hpp"
#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

constexpr int most_accumulators =
    128;  ///< of one thread: half of its registers, the rest is fragments and addresses
constexpr int most_warps = 8;
constexpr int largest_block = 256;
constexpr std::size_t most_tiles = 8;  ///< of the engine that the dtype is for
constexpr int low_rows = 8;  ///< of a tile of tensor cores that multiplies with factors swapped
constexpr std::int64_t least_low_size = 512, most_low_size = 4096;  ///< n and k that it is for
constexpr std::size_t most_fallbacks = 3;  ///< of CUDA cores beside tensor cores

struct LayerZero {
  int m, n;
};

// A thread of CUDA cores can hold these; tensor cores multiply mma.m16n8 by mma_depth().
std::vector<LayerZero> register_tiles(Engine engine) {
  if (engine == Engine::TensorCores) return {{16, 8}};
  return {{1, 4}, {2, 4}, {4, 4}, {8, 4}, {8, 8}};
}

// Warps stand on register tiles: 4 x 8 lanes on CUDA cores; on tensor cores multiples that the
// accumulators allow, and that B's fragments, 16 columns at a time, divide; of equal areas first
// the squarest, which reads the fewest fragments.
std::vector<GpuTile> warp_tiles(Engine engine, DType operands) {
  std::vector<GpuTile> tiles;
  for (const LayerZero& registers : register_tiles(engine)) {
    GpuTile tile;
    tile.engine = engine;
    tile.operands = operands;
    tile.thread_m = registers.m;
    tile.thread_n = registers.n;
    if (engine == Engine::CudaCores) {
      tile.warp_m = 4 * registers.m;
      tile.warp_n = 8 * registers.n;
      tiles.push_back(tile);
      continue;
    }
    for (const int m : {16, 32, 64}) {
      for (const int n : {16, 32, 64}) {
        tile.warp_m = m;
        tile.warp_n = n;
        if (m * n / warp_lanes <= most_accumulators) tiles.push_back(tile);
      }
    }
  }
  std::ranges::stable_sort(tiles, {}, [](const GpuTile& tile) {
    return std::pair(tile.warp_m * tile.warp_n, tile.warp_m + tile.warp_n);
  });
  return tiles;
}

std::vector<int> stage_depths(Engine engine, DType operands) {
  if (engine == Engine::CudaCores) return {8, 16, 32};
  return {2 * mma_depth(operands), 4 * mma_depth(operands)};
}

// The tile, overlapped where that is worth it: what it hides from a block's second tile on, against
// what more bands of outputs take of every one. So many launches have one tile a block that both
// count alike.
GpuTile overlapped_if_better(const GpuMachine& machine, GpuTile tile) {
  const GpuTile plain = tile;
  tile.overlapped = true;
  const int resident =
      occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
  const int before =
      occupancy(machine, plain.threads(), plain.registers(), plain.shared_bytes()).blocks;
  if (tile.output_bands() == 0 || resident < before) return plain;
  const GpuContraction shape = timed_form(tile, tile.block_k);
  const GpuWave wave = gpu_wave(machine, shape, tile, resident);
  const double lost = wave.seconds() - gpu_wave(machine, shape, plain, resident).seconds();
  return wave.hidden > 2 * lost ? tile : plain;
}

// Blocks stand on warps, stages fill shared memory: all that the machine can run.
std::vector<GpuTile> block_tiles(const GpuMachine& machine, const std::vector<GpuTile>& warps,
                                 std::initializer_list<int> rows_of_warps = {1, 2, 4}) {
  std::vector<GpuTile> tiles;
  for (GpuTile tile : warps) {
    const Engine engine = tile.engine;
    for (const int rows : rows_of_warps) {
      for (const int columns : {1, 2, 4, 8}) {
        tile.block_m = rows * tile.warp_m;
        tile.block_n = columns * tile.warp_n;
        if (rows * columns > most_warps || std::max(tile.block_m, tile.block_n) > largest_block)
          continue;
        for (const int depth : stage_depths(engine, tile.operands)) {
          tile.block_k = depth;
          for (const int stages : {2, 3, 4}) {
            tile = at_stages(tile, stages);
            if (engine == Engine::CudaCores && stages > 3) continue;
            if (occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks >
                0)
              tiles.push_back(overlapped_if_better(machine, tile));
          }
        }
      }
    }
  }
  return tiles;
}

struct Rated {
  GpuTile tile;
  double full;     ///< seconds for one multiply-add of a GPU that is full of such blocks
  double typical;  ///< the mean (geometric) of that and of one block on each multiprocessor: a
                   ///< shape may give either
};

Rated rated(const GpuMachine& machine, const GpuTile& tile) {
  const double element_bytes = static_cast<double>(size_of(tile.operands));
  const GpuContraction shape{.m = tile.block_m,
                             .n = tile.block_n,
                             .k = tile.block_k,
                             .a_element_bytes = element_bytes,
                             .b_element_bytes = element_bytes};
  const auto rate = [&](int resident) {
    const double blocks = static_cast<double>(machine.multiprocessors) * resident;
    const double l2 = blocks * tile.block_k * (tile.block_m + tile.block_n) * element_bytes /
                      machine.l2_bytes_per_second;
    const double stage =
        std::max(steady_stage_seconds(gpu_wave(machine, shape, tile, resident)), l2);
    return stage / (blocks * tile.block_m * tile.block_n * tile.block_k);
  };
  const double full =
      rate(occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks);
  return {tile, full, std::sqrt(rate(1) * full)};
}

// For each block_m x block_n the fastest way to fill it; and first of all the fastest tile on a GPU
// that is full, for large shapes.
std::vector<Rated> fastest_of_each_block(const GpuMachine& machine,
                                         const std::vector<GpuTile>& tiles) {
  std::vector<Rated> fastest;
  for (const GpuTile& tile : tiles) {
    const Rated next = rated(machine, tile);
    if (fastest.empty()) fastest.push_back(next);
    if (next.full < default_calibration().gpu_worth_replacing * fastest.front().full)
      fastest.front() = next;
    const auto same = std::find_if(fastest.begin() + 1, fastest.end(), [&](const Rated& other) {
      return other.tile.block_m == tile.block_m && other.tile.block_n == tile.block_n;
    });
    if (same == fastest.end())
      fastest.push_back(next);
    else if (next.typical < default_calibration().gpu_worth_replacing * same->typical)
      *same = next;
  }
  const GpuTile first = fastest.empty() ? GpuTile{} : fastest.front().tile;
  std::erase_if(fastest,
                [&, n = 0](const Rated& other) mutable { return n++ > 0 && other.tile == first; });
  return fastest;
}

// How much slower `other` is on one block of `tile`'s size: by its rate, and by what it pads.
double loss(const Rated& tile, const Rated& other) {
  const auto padding = [](int wanted, int block) {
    return std::max(1.0, static_cast<double>(block) / wanted);
  };
  return padding(tile.tile.block_m, other.tile.block_m) *
         padding(tile.tile.block_n, other.tile.block_n) * other.typical / tile.typical;
}

// The first, then those that replace all others with the least loss (squares of
// logarithms), added one by one; no shape plays a part.
std::vector<GpuTile> thin(const std::vector<Rated>& tiles, std::size_t most) {
  std::vector<double> losses(tiles.size(), std::numeric_limits<double>::infinity());
  std::vector<bool> taken(tiles.size());
  std::vector<GpuTile> kept;
  const auto total_with = [&](std::size_t i) {
    double total = 0;
    for (std::size_t j = 0; j < tiles.size(); ++j) {
      const double logarithm =
          std::log(std::max(1.0, std::min(losses[j], loss(tiles[j], tiles[i]))));
      total += logarithm * logarithm;
    }
    return total;
  };
  while (kept.size() < std::min(most, tiles.size())) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = kept.empty() ? 0 : 1; i < (kept.empty() ? 1 : tiles.size()); ++i) {
      if (taken[i]) continue;
      const double total = total_with(i);
      if (total < least) least = total, best = i;
    }
    kept.push_back(tiles[best].tile);
    taken[best] = true;
    for (std::size_t j = 0; j < tiles.size(); ++j)
      losses[j] = std::min(losses[j], loss(tiles[j], tiles[best]));
  }
  // Smaller ones first: where all wait for memory, the smaller has more blocks on their way, and
  // pads less.
  std::stable_sort(kept.begin(), kept.end(), [](const GpuTile& a, const GpuTile& b) {
    return a.block_m * a.block_n < b.block_m * b.block_n;
  });
  return kept;
}

std::vector<GpuTile> tiles_of(const GpuMachine& machine, Engine engine, DType operands,
                              std::size_t most) {
  return thin(fastest_of_each_block(machine, block_tiles(machine, warp_tiles(engine, operands))),
              most);
}

// Seconds for low_rows rows by matrices of several sizes: the mean logarithm.
double low_cost(const GpuMachine& machine, const GpuTile& tile) {
  GpuContraction shape = timed_form(tile, 0);
  double sum = 0;
  for (shape.n = least_low_size; shape.n <= most_low_size; shape.n *= 2)
    for (shape.k = least_low_size; shape.k <= most_low_size; shape.k *= 2)
      sum += std::log(gpu_contraction_cost(machine, shape, tile));
  return sum;
}

// Few rows fill half of an instruction's 16, but all of its 8 columns: a block of one row of warps
// whose factors have changed places in mma has half the sums, fragments of A, and stages for A.
std::vector<GpuTile> every_low_tile(const GpuMachine& machine, DType operands) {
  GpuTile tile;
  tile.engine = Engine::TensorCores;
  tile.operands = operands;
  tile.thread_m = tile.warp_m = low_rows;
  tile.thread_n = 2 * low_rows;
  std::vector<GpuTile> warps;
  for (const int n : {16, 32, 64}) {
    tile.warp_n = n;
    warps.push_back(tile);
  }
  return block_tiles(machine, warps, {1});
}

// The cheapest one for such matrices.
std::vector<GpuTile> low_tiles(const GpuMachine& machine, DType operands) {
  const std::vector<GpuTile> tiles = every_low_tile(machine, operands);
  const auto cheapest = std::ranges::min_element(
      tiles, {}, [&](const GpuTile& other) { return low_cost(machine, other); });
  if (cheapest == tiles.end()) return {};
  return {*cheapest};
}

}  // namespace

std::vector<GpuTile> every_gpu_tile(const GpuMachine& machine, Engine engine, DType operands) {
  std::vector<GpuTile> tiles = block_tiles(machine, warp_tiles(engine, operands));
  if (engine == Engine::TensorCores) {
    const std::vector<GpuTile> low = every_low_tile(machine, operands);
    tiles.insert(tiles.end(), low.begin(), low.end());
  }
  // As they are, overlapped where that is better for all shapes together.
  for (std::size_t i = 0, count = tiles.size(); i < count; ++i) {
    GpuTile other = tiles[i];
    other.overlapped = !other.overlapped;
    if ((!other.overlapped || other.output_bands() > 0) &&
        occupancy(machine, other.threads(), other.registers(), other.shared_bytes()).blocks > 0)
      tiles.push_back(other);
  }
  return tiles;
}

std::vector<GpuTile> gpu_tiles(const GpuMachine& machine, DType operands, bool allow_tf32) {
  const bool tensor = (operands != DType::f32 || allow_tf32) && mma_fma(machine, operands) > 0;
  std::vector<GpuTile> tiles;
  if (tensor) tiles = tiles_of(machine, Engine::TensorCores, operands, most_tiles);
  if (tensor) {
    const std::vector<GpuTile> low = low_tiles(machine, operands);
    tiles.insert(tiles.end(), low.begin(), low.end());
  }
  if (operands == DType::i8) return tiles;
  const std::vector<GpuTile> cuda =
      tiles_of(machine, Engine::CudaCores, DType::f32, tensor ? most_fallbacks : most_tiles);
  tiles.insert(tiles.end(), cuda.begin(), cuda.end());
  return tiles;
}

}  // namespace dyn::choice
