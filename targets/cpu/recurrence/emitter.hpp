#pragma once
// The kernels of recurrent layers, as IR: all steps of some rows of the batch, one after the other.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace llvm {
class Module;
}

namespace dyn::cpu {

/// Slots of KernelArgs::ints that the plan fills, after those of the problem. A ticket is a part of
/// the columns of a team; a team has some rows of one direction.
struct RecurrenceSlots {
  int row_blocks;  ///< parts of the batch for every direction
  int parts;       ///< parts of the columns: tickets of a team
  int teams;
  int gate_bytes;  ///< from one gate's panels of packed weights to the next
  int team_bytes;  ///< of KernelArgs::shared for each team, where there are several parts
  int quantised;   ///< byte of a ticket's scratch from which on it has quantised states
  int memory;      ///< byte of a ticket's scratch from which on a team of one part has its memory
  /// Bytes from the start of a team's memory: of states before and after a step, cells, and what
  /// one product of a step leaves for the next; biases, lengths, panels of weights.
  int states, next_states, cells, updates, seen, bias, lengths, panels;
};
/// They stand behind those of the axes.
RecurrenceSlots recurrence_slots(const codegen::SlotTable& slots);
inline constexpr int recurrence_slot_count = 15;

/// Row: one row of the batch at a time, with as many columns as hide the latency of multiply-adds.
/// Rows: tiles of rows share each load of the weights. Both add in the same order.
enum class RecurrenceForm : std::uint8_t { Row, Rows };

/// What the generated code is specialised on, besides the structure of the problem.
struct RecurrenceClass {
  RecurrenceForm form = RecurrenceForm::Row;
  bool shared = false;        ///< a team has several tickets, each with a part of the columns
  bool whole_panels = false;  ///< states are known to fill panels
  bool asks_ahead = false;    ///< for weights, before they are needed
  bool r_unit = false;        ///< weights that are not packed lie with stride 1 along n
  std::vector<codegen::StrideClass> lanes;  ///< of each operand along n
};

/// The sums that registers hold: rows of the batch, and vectors of columns of each gate.
struct CellTile {
  int rows, vectors;
};
CellTile cell_tile(const codegen::Isa& isa, RecurrenceForm form, int gates);

/// A step has as many phases as it has products that need each other's results.
inline int phases_of(const rkernel::Cell& cell) {
  return cell.kind == rkernel::CellKind::Gru && !cell.linear_before_reset ? 2 : 1;
}

/// Floats from one row of a state to the next in scratch.
std::int64_t state_row(const codegen::Isa& isa, std::int64_t hidden);

/// Writes the function `symbol` (a KernelFunction).
void emit_recurrence(llvm::Module& module, const std::string& symbol,
                     const rkernel::Problem& problem, const codegen::Isa& isa,
                     const codegen::SlotTable& slots, const RecurrenceSlots& strategy,
                     const RecurrenceClass& shape_class);

/// Bytes before each team's memory in KernelArgs::shared: the words by which its tickets meet. The
/// function `symbol` (a KernelFunction) clears those of all teams, in a stage before the tickets.
inline constexpr std::int64_t meeting_bytes = 192;
void emit_meeting(llvm::Module& module, const std::string& symbol, const RecurrenceSlots& strategy);

}  // namespace dyn::cpu
