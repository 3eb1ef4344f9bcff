#include "src/choice/gpu/tile_traffic.hpp"

#include <algorithm>

#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {

double multiply_adds_per_cycle(const GpuMachine& machine, const GpuTile& tile) {
  if (tile.engine == Engine::CudaCores) return machine.f32_fma;
  return mma_fma(machine, tile.operands);
}

TileTraffic traffic_of(const GpuMachine& machine, const GpuTile& tile, const GpuContraction& form,
                       double fastest) {
  const double outputs = static_cast<double>(tile.block_m) * tile.block_n;
  const double bytes_per_second = machine.memory_bytes_per_second / machine.multiprocessors;
  return {.compute = outputs * tile.block_k / fastest / machine.clock_hz,
          .memory = tile.block_k *
                    (tile.block_m * form.a_element_bytes + tile.block_n * form.b_element_bytes) /
                    bytes_per_second,
          .shared = shared_step_seconds(machine, tile),
          .output_memory = outputs * form.epilogue_bytes / bytes_per_second};
}

double compute_to_memory(const TileTraffic& traffic, std::int64_t steps) {
  const double count = static_cast<double>(std::max<std::int64_t>(1, steps));
  return count * traffic.compute /
         std::max(count * traffic.memory + traffic.output_memory, count * traffic.shared);
}

}  // namespace dyn::choice
