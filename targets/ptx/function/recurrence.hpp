#pragma once
// The steps of a recurrent layer as one kernel.

#include <memory>
#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/ptx/function/code.hpp"

namespace dyn::ptx {

/// A layer with its slots. Each ticket has all steps of some rows of the batch, in one direction. A
/// block has `groups` groups of 2^lane_shift threads. A group has some rows, as many as its class
/// says, and a thread every 2^lane_shift-th column of the state.
///
/// States lie in the memory of the launch (Launch::shared_bytes), behind the counters, in planes of
/// state_rows * state_floats f32: row d * batch + b of a plane is that row of the batch in
/// direction d.
struct RecurrenceProblem {
  explicit RecurrenceProblem(const rkernel::Problem& problem);

  std::shared_ptr<const rkernel::Problem> problem;
  codegen::SlotTable slots;
  std::vector<FunctionPart> parts;  ///< of each operand, with strides along all axes
  std::vector<int> extents;         ///< slots of the axes
  // Slots that a launch sets.
  int tickets = 0, lane_shift = 0, groups = 0, state_rows = 0, state_floats = 0;
  Digit directions, tiles;
};

/// Planes of states: before and after a step, one of both by turns; then the cells of an lstm, or,
/// of a gru whose third product reads what the reset gate leaves, updates and that.
enum RecurrencePlane : int {
  even_states,
  odd_states,
  cell_states,
  updates = cell_states,
  reset_states
};
int planes_of(const rkernel::Cell& cell);

/// Products of a step that need each other's results.
int phases_of(const rkernel::Cell& cell);

/// Rows of planes are whole multiples of so many floats, which threads read at once.
inline constexpr int recurrence_row_floats = 4;

/// Blocks for whose registers a multiprocessor has room: sums of 8 rows and 4 gates need more than
/// 128. Layers with more blocks than multiprocessors give their threads more rows instead.
inline constexpr int recurrence_resident = 1;

/// Where a thread leaves the sums of its rows.
int recurrence_shared_bytes(const RecurrenceProblem& layer, int rows);

/// `rows`: of a group.
void emit_recurrence(llvm::Module& module, const std::string& symbol,
                     const RecurrenceProblem& layer, int rows);

}  // namespace dyn::ptx
