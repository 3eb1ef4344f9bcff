#pragma once
// Micro-kernels whose times follow a rule that no tuner knows.

#include <cmath>

#include "src/base/bytes.hpp"
#include "src/tune/pools/pool_problem.hpp"
#include "tests/support/round_machine.hpp"

namespace dyn::tune::testing {

/// Few tiles and little memory: few enough kernels to try all.
inline choice::Machine small_machine(int threads) {
  choice::Machine machine = dyn::testing::round_machine(threads);
  machine.tiles.clear();
  for (int rows = 1; rows <= 8; ++rows)
    machine.tiles.push_back({rows, 32, std::max(rows, 4) * 1e-9});
  for (int rows = 1; rows <= 4; ++rows)
    machine.tiles.push_back({rows, 64, std::max(2 * rows, 4) * 1e-9});
  machine.levels[0].bytes = 8192;
  machine.levels[1].bytes = 131072;
  return machine;
}

/// Seconds of a block alone: its tiles, slower where panel and rows of A leave the nearest memory,
/// and where the block nearly fills L2, and what each call and ticket costs.
inline double made_up_seconds(const choice::Machine& machine, const choice::BlockKernel& block,
                              std::int64_t depth) {
  const double step = static_cast<double>(block.depth > 0 ? block.depth : depth);
  const double near = static_cast<double>(machine.levels[0].bytes),
               far = static_cast<double>(machine.levels[1].bytes);
  const double panel = (block.tile_columns + block.tile_rows) * step * 4,
               held = (static_cast<double>(block.rows + block.columns) * step +
                       static_cast<double>(block.rows * block.columns)) *
                      4;
  const double slow =
      1 + 0.8 * std::min(1.0, panel / near) + 0.5 * std::pow(std::min(1.5, held / far), 3);
  return choice::compute_seconds(machine, block, depth, {}) * slow + 0.5e-6;
}

inline choice::PoolSpeed made_up_speed(const choice::Machine& machine,
                                       const choice::PoolPlan& plan) {
  choice::PoolSpeed speed{plan};
  for (const std::int64_t depth : plan.depths) {
    speed.alone.push_back(made_up_seconds(machine, choice::block_of(plan.block), depth));
    speed.together.push_back(speed.alone.back() * (1 + 0.1 * (machine.threads - 1)));
  }
  return speed;
}

/// Answers for all, up to a number of measurements.
inline KernelLedger::Measure made_up_measure(const choice::Machine& machine, std::size_t& left) {
  return [&machine, &left](const choice::PoolPlan& plan) -> std::optional<choice::PoolSpeed> {
    if (left == 0) return std::nullopt;
    --left;
    return made_up_speed(machine, plan);
  };
}

}  // namespace dyn::tune::testing
