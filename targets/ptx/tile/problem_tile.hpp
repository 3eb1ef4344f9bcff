#pragma once
// A tile as one problem needs it.

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// The tile with what the problem takes from it: memory where rows are windows (with_windows()),
/// columns where there are several right sides, registers where factors are computed.
choice::GpuTile for_problem(choice::GpuTile tile, const rkernel::Problem& problem);

/// True where a thread has registers for what factors are computed from (factor_registers), beside
/// its sums, one step's fragments and addresses: more would spill. Blocks of few threads on CUDA
/// cores have their registers full of the many copies that each makes.
bool can_compute_factors(const choice::GpuTile& tile);

/// False where the problem cannot have the tile: its columns are no equal parts for all right
/// sides, or a thread has no registers for what it computes factors from.
bool can_have(const rkernel::Problem& problem, const choice::GpuTile& tile);

}  // namespace dyn::ptx
