#include "targets/ptx/programs/prologue_worth.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "dyn/error.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/programs/typical_sizes.hpp"
#include "targets/ptx/tile/problem_tile.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuContraction;
using choice::GpuMachine;
using choice::GpuTile;
using graph::PrologueWork;

/// The mean over sizes has to save so much, and none may lose more: predictions of both sides err.
constexpr double worth = 0.97, tolerated = 1.01;
/// Instructions for an element beside its operators: in a tile, and in a loop of its own.
constexpr double access_instructions = 2.5, loop_instructions = 4;
constexpr int loop_threads = 256, vector_lanes = 4;
/// Registers beside what is loaded: addresses.
constexpr int address_registers = 8;

double best_seconds(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                    const GpuContraction& shape) {
  double best = std::numeric_limits<double>::infinity();
  for (GpuTile tile : tiles) {
    const auto add = [&](int rows, double operations) {
      if (operations > 0)
        tile.factor_registers += address_registers + rows * tile.block_k / tile.threads();
    };
    add(tile.block_m, shape.a_operations);
    add(tile.block_n, shape.b_operations);
    if (tile.factor_registers > 0 && !can_compute_factors(tile)) continue;
    if (choice::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks >
        0)
      best = std::min(best, choice::gpu_contraction_cost(machine, shape, tile));
  }
  return best;
}

/// log(seconds with the factor computed / seconds with it in memory).
double log_ratio(const GpuMachine& machine, const std::vector<GpuTile>& tiles, DType precision,
                 const PrologueWork& work, std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> sizes;
  for (const graph::Dim dim : work.extents) sizes.push_back(graph::evaluate(dim, symbols));
  const std::size_t axes = sizes.size();
  GpuContraction copied;
  copied.m = sizes[axes - 3], copied.n = work.products * sizes[axes - 2],
  copied.k = sizes[axes - 1];
  for (std::size_t axis = 0; axis + 3 < axes; ++axis) copied.batch *= sizes[axis];
  if (copied.batch * copied.m * copied.n * copied.k == 0) return 0;
  copied.a_element_bytes = copied.b_element_bytes = static_cast<double>(size_of(precision));
  GpuContraction computed = copied;
  (work.factor == 0 ? computed.a_operations : computed.b_operations) =
      static_cast<double>(work.operators) + access_instructions;
  const double elements = static_cast<double>(copied.batch) *
                          static_cast<double>(work.factor == 0 ? copied.m : sizes[axes - 2]) *
                          static_cast<double>(copied.k);
  const auto blocks =
      static_cast<std::int64_t>(std::ceil(elements / (loop_threads * vector_lanes)));
  const double bytes = elements * static_cast<double>(size_of(precision));
  const double before =
      work.is_passed_over
          ? bytes / machine.memory_bytes_per_second
          : choice::gpu_loop_cost(machine, elements, 2 * bytes,
                                  static_cast<double>(work.operators) + loop_instructions, blocks,
                                  loop_threads);
  return std::log(best_seconds(machine, tiles, computed) /
                  (best_seconds(machine, tiles, copied) + before));
}

}  // namespace

bool prologue_is_worth(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                       DType precision, const PrologueWork& work) {
  if (!std::ranges::all_of(work.dtypes, can_load)) return false;
  const graph::DimTable& dims = work.extents.front().table();
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  try {
    for (const std::int64_t unknown : unknown_sizes) {
      const double ratio =
          log_ratio(machine, tiles, precision, work, typical_symbols(dims, unknown));
      sum += ratio;
      most = std::max(most, ratio);
    }
  } catch (const Error&) { return false; }  // no such size: an expression overflows
  return sum < std::log(worth) * static_cast<double>(std::size(unknown_sizes)) &&
         most < std::log(tolerated);
}

}  // namespace dyn::ptx
