#pragma once
// The work of a block of a tile, and its traffic, by the hardware's speeds alone.

#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

/// By the tile's engine, of one multiprocessor.
double multiply_adds_per_cycle(const GpuMachine& machine, const GpuTile& tile);

/// Seconds of one step of a block, each by itself.
struct TileTraffic {
  double compute = 0;        ///< multiply-adds at the hardware's speed
  double memory = 0;         ///< reading, at a multiprocessor's part of the memory's bandwidth
  double shared = 0;         ///< what passes through shared memory
  double output_memory = 0;  ///< of the outputs, once
};
/// `fastest`: multiply-adds in each cycle of a multiprocessor, by the hardware.
TileTraffic traffic_of(const GpuMachine& machine, const GpuTile& tile, const GpuContraction& form,
                       double fastest);
/// Multiply-adds over K_mem (FTuner, equations 6 and 7): the larger one of what a block of so many
/// steps reads and writes, and what passes through shared memory.
double compute_to_memory(const TileTraffic& traffic, std::int64_t steps);

}  // namespace dyn::choice
