#include "targets/cpu/measure/measure.hpp"

#include <algorithm>

#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/measure/overheads.hpp"
#include "targets/cpu/measure/read_bandwidth.hpp"
#include "targets/cpu/x86/cpu_info.hpp"

namespace dyn::cpu {
namespace {

constexpr double largest_spread = 0.05;
constexpr std::int64_t measured_depth = 256;

// The largest tile of one panel.
std::size_t standard_tile(const codegen::Isa& isa, const MainLoopTable& loops) {
  return static_cast<std::size_t>(std::ranges::find(loops.tiles, largest_panel_tile(isa)) -
                                  loops.tiles.begin());
}

}  // namespace

std::vector<choice::TileSpeed> measure_tiles(const codegen::Isa& isa, const MainLoopTable& loops) {
  const MeasureBuffer a(1 << 20), b(1 << 20), c(1 << 20);
  // All steps of K read one row of B, so that operands stay in an L1 of any size: a panel of this
  // depth may fill one.
  constexpr std::int64_t same_row = 0;
  const auto run = [&](std::size_t i) {
    const double start = now_seconds();
    for (int repeat = 0; repeat < 4; ++repeat) {
      loops.functions[i](reinterpret_cast<const float*>(a.data()), measured_depth, b.data(),
                         same_row, isa.panel_f32, measured_depth,
                         reinterpret_cast<float*>(c.data()), loops.tiles[i].columns, 0, 0, 0, 0);
    }
    return (now_seconds() - start) / 4;
  };
  const std::size_t standard = standard_tile(isa, loops);
  double standard_seconds = 1e9;
  std::vector<double> seconds(loops.tiles.size(), 1e9);
  std::vector<std::vector<double>> ratios(loops.tiles.size());
  for (int round = 0; round < measured_rounds; ++round) {
    for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
      run(i);
      const double beside = run(standard);
      const double alone = run(i);
      ratios[i].push_back(alone / beside);
      seconds[i] = std::min(seconds[i], alone);
      standard_seconds = std::min(standard_seconds, beside);
    }
  }
  std::vector<choice::TileSpeed> speeds;
  for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
    std::sort(ratios[i].begin(), ratios[i].end());
    // The spread of the better half: an interrupt may spoil some rounds, a noisy machine spoils
    // most, and with them the least ratio, whose divisor it made too long.
    const bool spoilt = ratios[i][measured_rounds / 2] > ratios[i].front() * (1 + largest_spread);
    const double least = spoilt ? seconds[i] : ratios[i].front() * standard_seconds;
    speeds.push_back(
        {loops.tiles[i].rows, loops.tiles[i].columns, least / static_cast<double>(measured_depth)});
  }
  return speeds;
}

MeasuredMachine measure_machine(const codegen::Isa& isa, int threads, const MainLoopTable& loops,
                                codegen::CodeStore& store, rkernel::CompileReport& report) {
  MeasuredMachine measured;
  choice::Machine& machine = measured.machine;
  machine.name = cpu_name();
  machine.threads = threads;
  machine.vector_width = isa.f32_lanes;
  machine.panel = isa.panel_f32;
  const std::vector<codegen::KernelSource> sources{read_loop_source(isa)};
  const codegen::LinkedCode code = store.resolve(sources, 1, report);
  const auto loop = reinterpret_cast<ReadLoop>(code.addresses.front());
  double start = now_seconds();
  constexpr int attempts = 3;
  const int processors = usable_processors(), cores = cpu_cores();
  machine.levels = measure_levels(loop, threads, processors);
  for (int attempt = 1; attempt < attempts && is_disturbed(machine.levels, cores); ++attempt) {
    machine.levels = best_of(machine.levels, measure_levels(loop, threads, processors));
  }
  measured.disturbed = is_disturbed(machine.levels, cores);
  if (measured.disturbed) machine.levels = without_disturbance(machine.levels, cores);
  machine.levels = never_slower(machine.levels);
  report.machine_seconds += now_seconds() - start;
  start = now_seconds();
  machine.tiles = measure_tiles(isa, loops);
  report.measure_seconds += now_seconds() - start;
  double cycle = 1;
  for (const choice::TileSpeed& tile : machine.tiles) {
    cycle = std::min(cycle, tile.seconds_per_k * 2 * isa.f32_lanes /
                                (static_cast<double>(tile.rows) * tile.columns));
  }
  const choice::Calibration& fitted = machine.fitted;
  start = now_seconds();
  const std::size_t standard = standard_tile(isa, loops);
  const Overheads overheads =
      measure_overheads(loops.functions[standard], loops.tiles[standard], threads, processors);
  report.machine_seconds += now_seconds() - start;
  machine.seconds_per_vector_operation = fitted.vector_operation_cycles * cycle;
  machine.seconds_per_call = overheads.call_seconds + fitted.tile_cycles * cycle;
  machine.seconds_per_ticket = overheads.ticket_seconds + fitted.ticket_cycles * cycle;
  machine.seconds_per_wakeup = fitted.handovers_per_wakeup * overheads.handover_seconds;
  return measured;
}

}  // namespace dyn::cpu
