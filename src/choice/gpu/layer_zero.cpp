#include "src/choice/gpu/layer_zero.hpp"

#include <algorithm>
#include <bit>

#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

constexpr int instruction_rows = 16, instruction_columns = 8, columns_of_fragments = 16;
constexpr int most_warp_accumulators = 128;  ///< of one thread: half of its registers
constexpr int most_thread_outputs = 64;
constexpr int lane_columns = 4, copied_floats = 8;
constexpr int small_multiples[] = {1, 2, 3, 4, 6, 8};

}  // namespace

std::vector<GpuKind> kinds_of(const std::vector<GpuTile>& tiles) {
  std::vector<GpuKind> kinds;
  for (const GpuTile& tile : tiles) {
    const GpuKind kind{tile.engine, tile.operands};
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

GpuTile cuda_warp(int lane_rows, int rows, int columns) {
  GpuTile tile;
  tile.thread_m = rows;
  tile.thread_n = columns;
  tile.warp_m = lane_rows * rows;
  tile.warp_n = warp_lanes / lane_rows * columns;
  return tile;
}

std::optional<GpuTile> tensor_warp(DType operands, int rows, int columns) {
  if (columns < columns_of_fragments || !std::has_single_bit(static_cast<unsigned>(columns)) ||
      rows * columns / warp_lanes > most_warp_accumulators)
    return std::nullopt;
  GpuTile tile;
  tile.engine = Engine::TensorCores;
  tile.operands = operands;
  tile.thread_m = instruction_rows;
  tile.thread_n = instruction_columns;
  tile.warp_m = rows;
  tile.warp_n = columns;
  return tile;
}

bool registers_hold(int rows, int columns) { return rows * columns <= most_thread_outputs; }

std::vector<GpuTile> warps_by_isa(const GpuKind& kind) {
  std::vector<GpuTile> warps;
  if (kind.engine == Engine::TensorCores) {
    for (const int rows : small_multiples) {
      for (int columns = columns_of_fragments; columns <= 8 * columns_of_fragments; columns *= 2) {
        if (const auto warp = tensor_warp(kind.operands, rows * instruction_rows, columns))
          warps.push_back(*warp);
      }
    }
    return warps;
  }
  for (int lane_rows = 1; lane_rows <= 8; lane_rows *= 2) {
    for (const int rows : small_multiples) {
      for (const int columns : {lane_columns, 2 * lane_columns}) {
        if (registers_hold(rows, columns)) warps.push_back(cuda_warp(lane_rows, rows, columns));
      }
    }
  }
  return warps;
}

int depth_granule(const GpuKind& kind) {
  return kind.engine == Engine::TensorCores ? mma_depth(kind.operands) : copied_floats;
}

GpuTile at_stages(GpuTile tile, int stages) {
  tile.stages = stages;
  tile.ahead = tile.engine == Engine::TensorCores && stages >= 3 && tile.holds_fragments_ahead();
  return tile;
}

std::optional<RatedTile> with_stages(const GpuMachine& machine, GpuTile tile) {
  std::optional<RatedTile> best;
  for (const int stages : few_stages) {
    tile = at_stages(tile, stages);
    const int resident =
        occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
    if (resident == 0) break;
    const GpuWave wave = gpu_wave(machine, timed_form(tile, tile.block_k), tile, resident);
    const double seconds = steady_stage_seconds(wave) / resident;
    if (!best || seconds < best->seconds) best = {tile, seconds};
  }
  return best;
}

}  // namespace dyn::choice
