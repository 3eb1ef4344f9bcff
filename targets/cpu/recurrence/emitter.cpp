#include "targets/cpu/recurrence/emitter.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/recurrence/step.hpp"
#include "targets/cpu/recurrence/team.hpp"
#include "targets/cpu/tile/group_instructions.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;
using rkernel::CellKind;

/// Writes a ticket: a part of the columns of some rows of one direction, for all steps.
class TicketEmitter {
 public:
  explicit TicketEmitter(RecurrenceFunction& function)
      : function_(function),
        builder_(function.builder),
        code_(function.code),
        recurrence_(function.recurrence) {}

  void emit(Value* ticket) {
    const RecurrenceSlots& slots = function_.strategy;
    Value *blocks = slot(slots.row_blocks), *team = ticket;
    if (is_shared()) {
      team = builder_.CreateUDiv(ticket, slot(slots.parts));
      leads_ = builder_.CreateICmpEQ(builder_.CreateURem(ticket, slot(slots.parts)), number(0));
    }
    direction_ = builder_.CreateUDiv(team, blocks);
    const codegen::Part block = codegen::equal_part(builder_, function_.extent(recurrence_.b),
                                                    blocks, builder_.CreateURem(team, blocks));
    function_.first_row = block.start;
    rows_ = block.size;
    Value* memory = is_shared() ? function_.shared : function_.scratch;
    Value* words = is_shared() ? builder_.CreateMul(team, slot(slots.team_bytes)) : number(0);
    words = builder_.CreateGEP(builder_.getInt8Ty(), memory, words);
    function_.memory = builder_.CreateGEP(builder_.getInt8Ty(), words,
                                          is_shared() ? number(meeting_bytes) : slot(slots.memory));
    function_.at(recurrence_.d, direction_, [&] {
      if (is_shared())
        emit_member(words);
      else
        emit_alone();
    });
  }

 private:
  bool is_shared() const { return function_.shape_class.shared; }
  bool has_cells() const { return recurrence_.cell.kind == CellKind::Lstm; }
  llvm::ConstantInt* number(std::int64_t value) { return code_.number(value); }
  Value* slot(int index) { return function_.operands.slot(index); }
  Value* cells() { return function_.memory_at(function_.strategy.cells); }
  /// To the team's memory, padded to whole vectors, which tiles read.
  void copy_biases() {
    if (recurrence_.bias < 0) return;
    Value* biases = function_.memory_at(function_.strategy.bias);
    for (int gate = 0; gate < function_.gates; ++gate) {
      function_.at(recurrence_.g, number(gate), [&] {
        function_.for_all_vectors([&](Value* column) {
          code_.store(function_.load(recurrence_.bias),
                      function_.state(biases, number(gate), column));
        });
      });
    }
  }

  void copy_states(int operand, Value* states) {
    function_.for_each_row(rows_, "initial", [&](Value* row) {
      function_.for_all_vectors([&](Value* column) {
        code_.store(function_.load(operand), function_.state(states, row, column));
      });
    });
  }

  void store_states(Value* states, int operand) {
    function_.for_each_row(rows_, "last", [&](Value* row) {
      function_.for_all_vectors([&](Value* column) {
        function_.operands.store(operand, code_.load_vector(function_.state(states, row, column)));
      });
    });
  }

  /// Keeps the rows' lengths and writes the zeros behind them; returns the longest. One
  /// that is out of range is reported, and counts as 0.
  Value* read_lengths() {
    Value* all = function_.extent(recurrence_.t);
    Value* none = number(0);
    CountedLoop rows(builder_, number(0), rows_, number(1), "length", std::span(&none, 1));
    Value* longest = nullptr;
    function_.at(recurrence_.b, builder_.CreateAdd(function_.first_row, rows.index()), [&] {
      Value* length = builder_.CreateSExt(
          function_.operands.load(recurrence_.lengths, nullptr, false), builder_.getInt64Ty());
      Value* wrong = builder_.CreateICmpUGT(length, all);
      function_.operands.report_where(wrong);
      length = builder_.CreateSelect(wrong, number(0), length);
      builder_.CreateAlignedStore(length, length_place(function_, rows.index()), llvm::Align(8));
      clear_steps(length, all);
      longest = code_.maximum(length, rows.carried(0));
    });
    return rows.close(std::span(&longest, 1))[0];
  }

  void clear_steps(Value* first, Value* end) {
    CountedLoop steps(builder_, first, end, number(1), "clear");
    function_.at(recurrence_.t, steps.index(), [&] {
      function_.for_all_vectors(
          [&](Value*) { function_.operands.store(recurrence_.y, code_.splat(0.0)); });
    });
    steps.close();
  }

  const rkernel::Operand& weights() const {
    return function_.problem.operands[static_cast<std::size_t>(recurrence_.r)];
  }
  bool is_packed() const { return weights().form == rkernel::Form::Packed; }
  Value* panels_of_gate() {
    return code_.ceil_div(function_.extent(recurrence_.n), code_.isa().panel_f32);
  }
  Value* gate_bytes() {
    if (is_packed()) return function_.operands.slot(function_.strategy.gate_bytes);
    return builder_.CreateMul(builder_.CreateMul(panels_of_gate(), function_.extent(recurrence_.k)),
                              number(code_.isa().panel_f32 * float_bytes));
  }

  /// The weights of the direction: packed at load, or by pack_weights().
  GatePanels gate_panels() {
    if (!is_packed()) return {function_.memory_at(function_.strategy.panels), gate_bytes(), {}};
    Value* field = builder_.CreateConstInBoundsGEP1_64(builder_.getPtrTy(), function_.args.pointers,
                                                       static_cast<std::uint64_t>(recurrence_.r));
    Value* data = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
    Value* before =
        builder_.CreateMul(direction_, builder_.CreateMul(gate_bytes(), number(function_.gates)));
    return {builder_.CreateGEP(builder_.getInt8Ty(), data, before), gate_bytes(),
            rkernel::factors_of(function_.problem)};
  }

  void pack_weights() {
    for (int gate = 0; gate < function_.gates; ++gate) {
      function_.at(recurrence_.g, number(gate), [&] {
        const StridedMatrix from{function_.operands.pointer(recurrence_.r), stride(recurrence_.k),
                                 stride(recurrence_.n), function_.shape_class.r_unit};
        Value* to =
            builder_.CreateGEP(builder_.getInt8Ty(), function_.memory_at(function_.strategy.panels),
                               builder_.CreateMul(gate_bytes(), number(gate)));
        emit_panels(builder_, code_.isa(), from, function_.extent(recurrence_.k), panels_of_gate(),
                    function_.extent(recurrence_.n), to);
      });
    }
  }

  /// Of the weights along an axis.
  Value* stride(int axis) {
    const int slot = function_.slots.stride(recurrence_.r, axis);
    return slot == codegen::SlotTable::none ? number(0) : function_.operands.slot(slot);
  }

  /// The leader's part before the steps; returns their number.
  Value* begin() {
    copy_biases();
    copy_states(recurrence_.h, function_.memory_at(function_.strategy.states));
    if (has_cells()) copy_states(recurrence_.c, cells());
    if (!is_packed()) pack_weights();
    return recurrence_.lengths < 0 ? function_.extent(recurrence_.t) : read_lengths();
  }

  /// What follows the steps.
  void end(Value* steps) {
    store_states(states_at(steps)[0], recurrence_.last_h);
    if (has_cells()) store_states(cells(), recurrence_.last_c);
  }

  void emit_alone() {
    Value* steps = begin();
    const CellProducts products(function_, gate_panels());
    StepCode code(function_, products, {rows_, is_reversed()});
    CountedLoop loop(builder_, number(0), steps, number(1), "step");
    for (int phase = 0; phase < phases_of(recurrence_.cell); ++phase)
      code.emit(phase, place_of(loop.index(), function_.all_columns()));
    loop.close();
    end(steps);
  }

  void emit_member(Value* words) {
    Conditional first(builder_, leads_, "first");
    Value *steps = begin(), *none = number(0);
    steps = first.close(std::span(&steps, 1), std::span(&none, 1))[0];
    const CellProducts products(function_, gate_panels());
    StepCode code(function_, products, {rows_, is_reversed()});
    Value* phases = number(phases_of(recurrence_.cell));
    Team(function_, words, leads_)
        .run(builder_.CreateMul(steps, phases), [&](const Team::Phase& turn) {
          const StepCode::Place place =
              place_of(builder_.CreateUDiv(turn.index, phases), columns_of(turn));
          for (int phase = 0; phase < phases_of(recurrence_.cell); ++phase) {
            Value* now =
                builder_.CreateICmpEQ(builder_.CreateURem(turn.index, phases), number(phase));
            Conditional here(builder_, now, "phase");
            code.emit(phase, place);
            here.close();
          }
        });
    Conditional last(builder_, leads_, "last");
    end(steps);
    last.close();
  }

  Value* is_reversed() {
    return recurrence_.reversed ? builder_.getTrue() : builder_.CreateICmpNE(direction_, number(0));
  }

  StepCode::Place place_of(Value* step, const ColumnRange& columns) {
    const std::array<Value*, 2> states = states_at(step);
    return {step, states[0], states[1], columns};
  }

  /// Where the states before and after a step lie.
  std::array<Value*, 2> states_at(Value* step) {
    Value *even = function_.memory_at(function_.strategy.states),
          *odd = function_.memory_at(function_.strategy.next_states);
    Value* is_odd = builder_.CreateTrunc(step, builder_.getInt1Ty());
    return {builder_.CreateSelect(is_odd, odd, even), builder_.CreateSelect(is_odd, even, odd)};
  }

  /// Whole panels.
  ColumnRange columns_of(const Team::Phase& phase) {
    const std::int64_t width = code_.isa().panel_f32;
    Value* columns = function_.extent(recurrence_.n);
    const codegen::Part part =
        codegen::equal_part(builder_, code_.ceil_div(columns, width), phase.parts, phase.part);
    Value* end = builder_.CreateMul(builder_.CreateAdd(part.start, part.size), number(width));
    return {builder_.CreateMul(part.start, number(width)), code_.minimum(end, columns)};
  }

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  const rkernel::Recurrence& recurrence_;
  Value *leads_ = nullptr, *direction_ = nullptr, *rows_ = nullptr;  ///< of the ticket
};

}  // namespace

RecurrenceSlots recurrence_slots(const codegen::SlotTable& slots) {
  RecurrenceSlots made;
  int next = slots.first_reserved();
  for (int* slot : {&made.row_blocks, &made.parts, &made.teams, &made.gate_bytes, &made.team_bytes,
                    &made.quantised, &made.memory, &made.states, &made.next_states, &made.cells,
                    &made.updates, &made.seen, &made.bias, &made.lengths, &made.panels})
    *slot = next++;
  return made;
}

// A step of K has the latency of a multiply-add, so that eight sums or more keep the units busy.
// The registers that are left hold the weights or the states of a step.
CellTile cell_tile(const codegen::Isa& isa, RecurrenceForm form, int gates) {
  constexpr int row_sums = 8, most_rows = 12;
  // As many vectors as divide a panel, or whole panels.
  if (form == RecurrenceForm::Row)
    return {1, static_cast<int>(std::bit_ceil(static_cast<unsigned>(row_sums / gates)))};
  const int sums = isa.vector_registers == 32 ? 24 : isa.fma ? 12 : 8;
  const int vectors = gates == 1 ? 2 : 1;
  return {std::min(most_rows, sums / (gates * vectors)), vectors};
}

std::int64_t state_row(const codegen::Isa& isa, std::int64_t hidden) {
  constexpr std::int64_t slack = 16;  // rows do not share cache sets
  return round_up(hidden, isa.f32_lanes) + slack;
}

void emit_recurrence(llvm::Module& module, const std::string& symbol,
                     const rkernel::Problem& problem, const codegen::Isa& isa,
                     const codegen::SlotTable& slots, const RecurrenceSlots& strategy,
                     const RecurrenceClass& shape_class) {
  RecurrenceFunction function(module, symbol, problem, isa, slots, strategy, shape_class);
  allow_group(*function.function, isa, problem.recurrence->group);
  codegen::Builder& builder = function.builder;
  Value* first = function.function->getArg(1);
  CountedLoop tickets(builder, first, builder.CreateAdd(first, function.function->getArg(2)),
                      function.number(1), "ticket");
  TicketEmitter(function).emit(tickets.index());
  tickets.close();
  builder.CreateRetVoid();
}

}  // namespace dyn::cpu
