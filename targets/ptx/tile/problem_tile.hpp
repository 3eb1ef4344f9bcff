#pragma once
// A tile as one problem needs it.

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// The tile with what the problem takes from it: memory where rows are windows (with_windows()),
/// columns where there are several right sides, registers where factors are computed.
choice::GpuTile for_problem(choice::GpuTile tile, const rkernel::Problem& problem);

/// A thread keeps sums, and what it has loaded to compute factors from, beside one step's fragments
/// and addresses: more would spill.
inline constexpr int most_kept_registers = 160;

/// False where the problem cannot have the tile: its columns are no equal parts for all right
/// sides, or a thread has no registers for what it computes factors from.
bool can_have(const rkernel::Problem& problem, const choice::GpuTile& tile);

}  // namespace dyn::ptx
