#include <algorithm>
#include <cmath>

#include "src/rkernel/gpu_wave.hpp"

namespace dyn::rkernel {
namespace {

constexpr double lanes_issued_per_cycle = 128;  ///< by the four schedulers of a multiprocessor
constexpr int loop_registers = 40;              ///< of a thread of a kernel without a contraction
constexpr double warp_lanes = 32, partitions = 4;
constexpr double l2_share = 0.5;  ///< of L2 that one operand can keep while the others stream through

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Blocks {
  std::int64_t m, n, all;
};

Blocks blocks_of(const GpuContraction& shape, const GpuTile& tile) {
  const std::int64_t m = ceil_div(shape.m, tile.block_m), n = ceil_div(shape.n, tile.block_n);
  return {m, n, shape.batch * m * n};
}

// Memory that must be read and written: each operand once, and B again for each raster_rows of blocks where L2 cannot keep it, but no
// more often than there are waves.
double memory_bytes(const GpuMachine& machine, const GpuContraction& shape, const Blocks& blocks, int resident) {
  const double batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
               k = static_cast<double>(shape.k);
  const double b_matrix = n * k * shape.b_element_bytes;
  const double waves = std::ceil(static_cast<double>(blocks.m * blocks.n) / (static_cast<double>(machine.multiprocessors) * resident));
  const bool kept = b_matrix <= l2_share * static_cast<double>(machine.l2_bytes);
  const double b_passes = kept ? 1 : std::min(waves, static_cast<double>(ceil_div(blocks.m, raster_rows)));
  return batch * (m * k * shape.a_element_bytes + b_matrix * b_passes + m * n * shape.epilogue_bytes);
}

double l2_bytes(const GpuContraction& shape, const Blocks& blocks) {
  const double batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
               k = static_cast<double>(shape.k);
  return batch * (m * k * shape.a_element_bytes * static_cast<double>(blocks.n) + n * k * shape.b_element_bytes * static_cast<double>(blocks.m) +
                  m * n * shape.epilogue_bytes);
}

// A bound that all blocks share: bytes against the bandwidth of the whole GPU.
LayerTerms traffic_terms(const GpuMachine& machine, const char* name, double bytes, double bytes_per_second) {
  LayerTerms terms{.name = name};
  terms.spatial_trips = 0;
  terms.fixed = machine.memory_latency_seconds + bytes / bytes_per_second;
  return terms;
}

}  // namespace

double gpu_contraction_cost(const GpuMachine& machine, const GpuContraction& shape, const GpuTile& tile, CostBreakdown* breakdown) {
  const Blocks blocks = blocks_of(shape, tile);
  const int fitting = occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
  if (fitting == 0 || blocks.all == 0) return machine.launch_seconds;
  // Fewer blocks than the GPU can hold spread over its multiprocessors.
  const auto resident_of = [&](std::int64_t count) {
    return static_cast<int>(std::min<std::int64_t>(fitting, ceil_div(count, machine.multiprocessors)));
  };
  const std::int64_t wave_blocks = std::int64_t{machine.multiprocessors} * fitting;
  const std::int64_t full_waves = blocks.all / wave_blocks, last_blocks = blocks.all % wave_blocks;
  CostBreakdown parts;
  parts.tickets = blocks.all;
  double grid_seconds = 0;
  // Vortex, equation 4: F_parallel = ceil(blocks / (multiprocessors * occupancy)). The last wave, where it is not full, has its own
  // occupancy, and so its own cost.
  const auto add_waves = [&](const char* name, std::int64_t count, int resident, bool detailed) {
    GpuWave wave = gpu_wave(machine, shape, tile, resident);
    LayerTerms grid{.name = name};
    grid.parallel_trips = static_cast<double>(count);
    grid.units = static_cast<double>(machine.multiprocessors) * resident;
    const double seconds = layer_cost(grid, wave.seconds(), true);
    grid_seconds += seconds;
    if (detailed) {
      parts.register_tile = wave.instruction;
      parts.layers = std::move(wave.layers);
      parts.costs = std::move(wave.costs);
    }
    parts.layers.push_back(grid);
    parts.costs.push_back(seconds);
  };
  if (full_waves > 0) add_waves("grid", full_waves * wave_blocks, fitting, true);
  if (last_blocks > 0) add_waves(full_waves > 0 ? "grid, last wave" : "grid", last_blocks, resident_of(last_blocks), full_waves == 0);
  double seconds = grid_seconds;
  const auto bound = [&](const LayerTerms& terms) {
    parts.layers.push_back(terms);
    parts.costs.push_back(layer_cost(terms, 0, true));
    seconds = std::max(seconds, parts.costs.back());
  };
  bound(traffic_terms(machine, "L2, all blocks", l2_bytes(shape, blocks), machine.l2_bytes_per_second));
  bound(traffic_terms(machine, "memory, all blocks", memory_bytes(machine, shape, blocks, fitting), machine.memory_bytes_per_second));
  parts.seconds = seconds + machine.launch_seconds;
  if (breakdown != nullptr) *breakdown = std::move(parts);
  return seconds + machine.launch_seconds;
}

double gpu_loop_cost(const GpuMachine& machine, double elements, double bytes, double operations_per_element, std::int64_t blocks, int threads) {
  if (blocks <= 0) return machine.launch_seconds;
  const int fitting = std::max(1, occupancy(machine, threads, loop_registers, 0).blocks);
  const double per_multiprocessor = static_cast<double>(ceil_div(blocks, machine.multiprocessors));
  const double waves = std::ceil(per_multiprocessor / fitting);
  const double resident_warps = std::min<double>(fitting, per_multiprocessor) * threads / warp_lanes;
  const double block_share = per_multiprocessor / static_cast<double>(blocks);  // of all the work, on the multiprocessor that has most
  const double lanes_per_cycle = lanes_issued_per_cycle * std::min(1.0, resident_warps / partitions);
  const double issue = elements * operations_per_element * block_share / lanes_per_cycle / machine.clock_hz;
  const double link = bytes * block_share / (machine.l2_bytes_per_cycle * machine.clock_hz);
  return machine.launch_seconds + waves * machine.memory_latency_seconds + std::max({bytes / machine.memory_bytes_per_second, issue, link});
}

}  // namespace dyn::rkernel
