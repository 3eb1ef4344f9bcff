#pragma once
// One wave of a contraction on a GPU: blocks that are resident together on a multiprocessor, as
// terms of the layers below the grid.

#include <array>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

/// A multiprocessor has four parts, each with a quarter of its units, its own warps, and one
/// instruction issued a cycle (NVIDIA A100 and H100 architecture whitepapers).
inline constexpr double partitions = 4;

/// Layers "warp", "block" and "shared", nearest first, each for one unit that shares its
/// multiprocessor with the rest of the wave.
struct GpuWave {
  double instruction = 0;  ///< layer 0: seconds of one step of the registers' tile
  std::array<LayerTerms, 3> layers;
  std::array<double, 3> costs{};  ///< of each layer; the last is the wave's
  double hidden = 0;  ///< seconds that a wave spares which follows one of the same tile: its first
                      ///< copies are on their way while that one's outputs are stored
  double seconds() const { return costs.back(); }
};

/// `resident` blocks on each multiprocessor.
GpuWave gpu_wave(const GpuMachine& machine, const GpuContraction& shape, const GpuTile& tile,
                 int resident);

/// The times that a block of a wave takes for each unit of its work, whatever the contraction's
/// sizes: its gpu_wave() takes latency + load + (steps - 1) * max(load, stage) + stage + store for
/// `steps` stages, load = max(rows * row + columns * column, least_load), store = outputs * output
/// + bands; strips come before it. A wave that follows one of the same tile spares min(most_hidden,
/// store) or less.
struct GpuBlockRates {
  double stage = 0;            ///< multiply-adds of a stage, waits, and the issue of copies
  double row = 0, column = 0;  ///< of a stage's factors, from L2
  double least_load = 0;       ///< of a stage
  double output = 0, bands = 0;
  double most_hidden = 0;
};
GpuBlockRates block_rates(const GpuMachine& machine, const GpuContraction& form,
                          const GpuTile& tile, int resident);

/// The factor of a tile's layers 0 and 1 at so many blocks on each multiprocessor: 1 where nobody
/// timed it; between one block and all that fit, on the line between both.
double measured_over_predicted(const GpuMachine& machine, const GpuTile& tile, int resident);

/// Seconds in which what one stage of a block alone brings and reads passes through shared memory.
double shared_step_seconds(const GpuMachine& machine, const GpuTile& tile);

/// A bound that all blocks share: bytes against the bandwidth of the whole GPU.
LayerTerms traffic_terms(const GpuMachine& machine, const char* name, double bytes,
                         double bytes_per_second);

/// Seconds between two stages once the pipeline of a wave runs.
double steady_stage_seconds(const GpuWave& wave);

}  // namespace dyn::choice
