// Timed layers 0 and 1 in place of predicted ones.

#include <algorithm>

#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {

GpuContraction timed_form(const GpuTile& tile, std::int64_t k) {
  const double element_bytes = static_cast<double>(size_of(tile.operands));
  return {.m = tile.block_m,
          .n = tile.block_n,
          .k = k,
          .a_element_bytes = element_bytes,
          .b_element_bytes = element_bytes};
}

GpuMachine with_stage_times(GpuMachine machine, std::vector<GpuStageTime> times) {
  machine.measured = nullptr;
  for (GpuStageTime& time : times) {
    const auto over_predicted = [&](double seconds, int resident) {
      return seconds / steady_stage_seconds(gpu_wave(
                           machine, timed_form(time.tile, time.tile.block_k), time.tile, resident));
    };
    time.alone_over_predicted = over_predicted(time.alone, 1);
    time.full_over_predicted = over_predicted(time.full, time.resident);
  }
  machine.measured = std::make_shared<const std::vector<GpuStageTime>>(std::move(times));
  return machine;
}

const GpuStageTime* stage_time(const GpuMachine& machine, const GpuTile& tile) {
  if (machine.measured == nullptr) return nullptr;
  GpuTile plain = tile;
  plain.window_entry_bytes = plain.strip_bytes = plain.factor_registers = 0;
  plain.sides = 1;
  const auto found = std::ranges::find(*machine.measured, plain, &GpuStageTime::tile);
  return found == machine.measured->end() ? nullptr : &*found;
}

double measured_over_predicted(const GpuMachine& machine, const GpuTile& tile, int resident) {
  const GpuStageTime* time = stage_time(machine, tile);
  if (time == nullptr) return 1;
  if (time->resident <= 1) return time->full_over_predicted;
  const double share =
      std::clamp(static_cast<double>(resident - 1) / (time->resident - 1), 0.0, 1.0);
  return time->alone_over_predicted +
         share * (time->full_over_predicted - time->alone_over_predicted);
}

}  // namespace dyn::choice
