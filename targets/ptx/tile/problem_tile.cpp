#include "targets/ptx/tile/problem_tile.hpp"

#include "src/base/rounding.hpp"
#include "targets/ptx/copies/factor_sources.hpp"
#include "targets/ptx/tile/strip_layout.hpp"

namespace dyn::ptx {
namespace {

/// Columns of a right side that a block's copies bring as whole vectors of every dtype.
constexpr int least_side_columns = 8;
// Beyond these ptxas 13.0 spills in some kernels for compute capability 8.0.
constexpr int most_kept_registers = 112, most_factor_registers = 64;
constexpr int least_warps_of_cuda_cores = 4;
}  // namespace

choice::GpuTile for_problem(choice::GpuTile tile, const rkernel::Problem& problem) {
  tile = with_windows(tile, problem);
  if (problem.operands.empty()) return tile;
  const rkernel::Contraction& contraction = problem.contraction.value();
  tile.sides = static_cast<int>(contraction.right_sides().size());
  tile.factor_registers = 0;
  const auto add = [&](const ComputedFactor& factor, int rows, int columns) {
    if (factor.is_computed())
      tile.factor_registers += registers_of(factor, {rows, columns, tile.threads()});
  };
  add(left_factor(problem), tile.block_m, tile.block_k);
  add(right_factor(problem), tile.block_k, tile.output_columns());
  return tile;
}

bool can_compute_factors(const choice::GpuTile& tile) {
  return tile.factor_registers <= most_factor_registers &&
         tile.sums_of_thread() + tile.factor_registers <= most_kept_registers &&
         (tile.engine == choice::Engine::TensorCores || tile.warps() >= least_warps_of_cuda_cores);
}

bool can_have(const rkernel::Problem& problem, const choice::GpuTile& tile) {
  const bool computes = left_factor(problem).is_computed() || right_factor(problem).is_computed();
  return (tile.sides == 1 ||
          (tile.block_n % tile.sides == 0 && tile.output_columns() % least_side_columns == 0)) &&
         (!computes || can_compute_factors(tile));
}

}  // namespace dyn::ptx
