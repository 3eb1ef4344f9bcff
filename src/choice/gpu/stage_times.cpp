// Timed layers 0 and 1 in place of predicted ones.

#include <algorithm>
#include <cmath>

#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

std::vector<GpuStageTimes::Typical> typical_of(const std::vector<GpuStageTime>& times) {
  std::vector<GpuStageTimes::Typical> typical;
  for (const GpuStageTime& time : times) {
    const auto is_kind = [&](const auto& of) {
      return of.engine == time.tile.engine && of.operands == time.tile.operands;
    };
    if (std::ranges::any_of(typical, is_kind)) continue;
    double sum = 0, count = 0;
    for (const GpuStageTime& other : times) {
      if (!is_kind(other.tile)) continue;
      sum += std::log(other.alone_over_predicted * other.full_over_predicted);
      count += 2;
    }
    typical.push_back({time.tile.engine, time.tile.operands, std::exp(sum / count)});
  }
  return typical;
}

}  // namespace

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
  std::vector<GpuStageTimes::Typical> typical = typical_of(times);
  machine.measured =
      std::make_shared<const GpuStageTimes>(GpuStageTimes{std::move(times), std::move(typical)});
  return machine;
}

const GpuStageTime* stage_time(const GpuMachine& machine, const GpuTile& tile) {
  if (machine.measured == nullptr) return nullptr;
  GpuTile plain = tile;
  plain.window_entry_bytes = plain.strip_bytes = plain.factor_registers = 0;
  plain.sides = 1;
  const std::vector<GpuStageTime>& tiles = machine.measured->tiles;
  const auto found = std::ranges::find(tiles, plain, &GpuStageTime::tile);
  return found == tiles.end() ? nullptr : &*found;
}

double measured_over_predicted(const GpuMachine& machine, const GpuTile& tile, int resident) {
  if (machine.measured == nullptr) return 1;
  const GpuStageTime* time = stage_time(machine, tile);
  if (time == nullptr) {
    for (const auto& [engine, operands, over_predicted] : machine.measured->typical)
      if (engine == tile.engine && operands == tile.operands) return over_predicted;
    return 1;
  }
  if (time->resident <= 1) return time->full_over_predicted;
  const double share =
      std::clamp(static_cast<double>(resident - 1) / (time->resident - 1), 0.0, 1.0);
  return time->alone_over_predicted +
         share * (time->full_over_predicted - time->alone_over_predicted);
}

}  // namespace dyn::choice
