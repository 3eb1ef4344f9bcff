#include "targets/cpu/recurrence/emitter.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/rounding.hpp"
#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/recurrence/cell.hpp"
#include "targets/cpu/recurrence/products.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;
using rkernel::CellKind;

/// Some gates' sums of a step, and the state that is multiplied.
struct GateRange {
  int first, count;
};

class RecurrenceEmitter {
 public:
  explicit RecurrenceEmitter(RecurrenceFunction& function)
      : function_(function),
        builder_(function.builder),
        code_(function.code),
        recurrence_(function.recurrence),
        cell_(function) {}

  /// Writes the ticket: some rows of one direction.
  void emit_ticket(Value* ticket) {
    Value* blocks = function_.operands.slot(function_.strategy.row_blocks);
    direction_ = builder_.CreateUDiv(ticket, blocks);
    const codegen::Part block = codegen::equal_part(builder_, function_.extent(recurrence_.b),
                                                    blocks, builder_.CreateURem(ticket, blocks));
    function_.first_row = block.start;
    rows_ = block.size;
    function_.at(recurrence_.d, direction_, [&] {
      copy_biases();
      Value* states = function_.scratch_at(function_.strategy.states);
      copy_states(recurrence_.h, states);
      if (has_cells()) copy_states(recurrence_.c, cells());
      Value* steps = recurrence_.lengths < 0 ? function_.extent(recurrence_.t) : read_lengths();
      const GatePanels panels = gate_panels();
      const CellProducts products(function_, panels);
      products_ = &products;
      store_states(emit_steps(states, steps), recurrence_.last_h);
      if (has_cells()) store_states(cells(), recurrence_.last_c);
    });
  }

 private:
  bool has_cells() const { return recurrence_.cell.kind == CellKind::Lstm; }
  llvm::ConstantInt* number(std::int64_t value) { return code_.number(value); }
  Value* cells() { return function_.scratch_at(function_.strategy.cells); }
  Value* length_at(Value* row) {
    return builder_.CreateGEP(builder_.getInt64Ty(),
                              function_.scratch_at(function_.strategy.lengths), row);
  }
  Value* load_length(Value* row) {
    return builder_.CreateAlignedLoad(builder_.getInt64Ty(), length_at(row), llvm::Align(8));
  }

  /// To scratch, padded to whole vectors, which tiles read.
  void copy_biases() {
    if (recurrence_.bias < 0) return;
    Value* biases = function_.scratch_at(function_.strategy.bias);
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

  /// Keeps the rows' lengths in scratch and writes the zeros behind them; returns the longest. One
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
      builder_.CreateAlignedStore(length, length_at(rows.index()), llvm::Align(8));
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

  /// The weights of the direction: packed at load, or here.
  GatePanels gate_panels() {
    const rkernel::Operand& r = function_.problem.operands[static_cast<std::size_t>(recurrence_.r)];
    Value *depth = function_.extent(recurrence_.k), *columns = function_.extent(recurrence_.n);
    if (r.form == rkernel::Form::Packed) {
      Value* bytes = number(function_.shape_class.gate_bytes);
      Value* field = builder_.CreateConstInBoundsGEP1_64(
          builder_.getPtrTy(), function_.args.pointers, static_cast<std::uint64_t>(recurrence_.r));
      Value* data = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
      Value* before =
          builder_.CreateMul(direction_, builder_.CreateMul(bytes, number(function_.gates)));
      return {builder_.CreateGEP(builder_.getInt8Ty(), data, before), bytes, r.dtype};
    }
    const std::int64_t width = code_.isa().panel_f32;
    Value* panels = code_.ceil_div(columns, width);
    Value* bytes = builder_.CreateMul(builder_.CreateMul(panels, depth),
                                      number(width * std::int64_t{sizeof(float)}));
    Value* data = function_.scratch_at(function_.strategy.panels);
    for (int gate = 0; gate < function_.gates; ++gate) {
      function_.at(recurrence_.g, number(gate), [&] {
        const StridedMatrix from{function_.operands.pointer(recurrence_.r), stride(recurrence_.k),
                                 stride(recurrence_.n), function_.shape_class.r_unit};
        emit_panels(builder_, code_.isa(), from, depth, panels, columns,
                    builder_.CreateGEP(builder_.getInt8Ty(), data,
                                       builder_.CreateMul(bytes, number(gate))));
      });
    }
    return {data, bytes, DType::f32};
  }

  /// Of the weights along an axis.
  Value* stride(int axis) {
    const int slot = function_.slots.stride(recurrence_.r, axis);
    return slot == codegen::SlotTable::none ? number(0) : function_.operands.slot(slot);
  }

  /// Whether the direction runs backwards, as an i1.
  Value* is_reversed() {
    return recurrence_.reversed ? builder_.getTrue() : builder_.CreateICmpNE(direction_, number(0));
  }

  /// The step's place in the tensors of a row of that length.
  Value* place_of(Value* step, Value* length) {
    Value* from_end = builder_.CreateSub(builder_.CreateSub(length, number(1)), step);
    return builder_.CreateSelect(is_reversed(), from_end, step);
  }

  /// Returns where the last states lie.
  Value* emit_steps(Value* states, Value* steps) {
    const std::array<Value*, 2> first{states, function_.scratch_at(function_.strategy.next_states)};
    CountedLoop loop(builder_, number(0), steps, number(1), "step", first);
    step_ = loop.index();
    before_ = loop.carried(0);
    after_ = loop.carried(1);
    if (recurrence_.lengths < 0)
      function_.at(recurrence_.t, place_of(step_, steps), [&] { emit_step(); });
    else
      emit_step();
    const std::array<Value*, 2> next{after_, before_};
    return loop.close(next)[0];
  }

  void emit_step() {
    const rkernel::Cell& cell = recurrence_.cell;
    if (cell.kind == CellKind::Gru && !cell.linear_before_reset) {
      emit_gates({0, 2}, before_, [&](Value* row, Value* column, const auto& sum) {
        const CellCode::Gates gates = cell_.gru_gates(sum(0), sum(1));
        code_.store(gates.update, at(function_.strategy.updates, row, column));
        code_.store(builder_.CreateFMul(gates.reset, state_before(row, column)),
                    at(function_.strategy.seen, row, column));
      });
      emit_gates({2, 1}, function_.scratch_at(function_.strategy.seen),
                 [&](Value* row, Value* column, const auto& sum) {
                   Value* update = code_.load_vector(at(function_.strategy.updates, row, column));
                   finish(row, column, cell_.gru(update, sum(2), state_before(row, column)));
                 });
      return;
    }
    emit_gates({0, function_.gates}, before_, [&](Value* row, Value* column, const auto& sum) {
      finish(row, column, state_after(row, column, sum));
    });
  }

  template <class Sum>
  Value* state_after(Value* row, Value* column, const Sum& sum) {
    switch (recurrence_.cell.kind) {
      case CellKind::Lstm: {
        Value* place = at(function_.strategy.cells, row, column);
        const CellCode::State state =
            cell_.lstm({sum(0), sum(1), sum(2), sum(3)}, code_.load_vector(place));
        code_.store(state.c, place);
        return state.h;
      }
      case CellKind::Gru: {
        const CellCode::Gates gates = cell_.gru_gates(sum(0), sum(1));
        return cell_.gru(gates.update, builder_.CreateFMul(gates.reset, sum(2)),
                         state_before(row, column));
      }
      case CellKind::Rnn: break;
    }
    return cell_.rnn(sum(0));
  }

  Value* at(int slot, Value* row, Value* column) {
    return function_.state(function_.scratch_at(slot), row, column);
  }
  Value* state_before(Value* row, Value* column) {
    return code_.load_vector(function_.state(before_, row, column));
  }
  void finish(Value* row, Value* column, Value* state) {
    code_.store(state, function_.state(after_, row, column));
    function_.operands.store(recurrence_.y, state);
  }

  /// Calls cell(row, column, sum) for each row and vector of columns, sum(gate) being the sums of
  /// these gates there. Rows that have ended keep their state.
  template <class Cell>
  void emit_gates(const GateRange& gates, Value* states, const Cell& cell) {
    const CellTile tile = cell_tile(code_.isa(), function_.shape_class.form, gates.count);
    function_.for_each_columns(tile.vectors, [&](const Columns& columns) {
      CountedLoop tiles(builder_, number(0), rows_, number(tile.rows), "tile");
      Value* count = code_.minimum(builder_.CreateSub(rows_, tiles.index()), number(tile.rows));
      emit_sums(gates, function_.state(states, tiles.index(), number(0)), columns, tile.rows,
                count);
      emit_cells(gates, columns, tiles.index(), count, cell);
      tiles.close();
    });
  }

  /// Leaves the sums of `count` rows in scratch: code for every number of rows up to `most`.
  void emit_sums(const GateRange& gates, Value* states, const Columns& columns, int most,
                 Value* count) {
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    const auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(builder_.getContext(), name, function);
    };
    llvm::BasicBlock* after = nullptr;
    llvm::SwitchInst* choice = nullptr;
    for (int rows = most; rows > 0; --rows) {
      if (rows == most && most > 1) {
        llvm::BasicBlock* whole = block("whole_tile");
        after = block("summed");
        choice = builder_.CreateSwitch(count, whole, static_cast<unsigned>(most - 1));
        builder_.SetInsertPoint(whole);
      } else if (rows < most) {
        llvm::BasicBlock* rest = block("rows_left");
        choice->addCase(number(rows), rest);
        builder_.SetInsertPoint(rest);
      }
      const CellProducts::Values sums =
          products_->emit({states, gates.first, gates.count, columns, rows});
      Value* place = function_.scratch_at(function_.strategy.tile);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        code_.store(sums[i],
                    code_.element(place, number(static_cast<std::int64_t>(i) * code_.lanes())));
      }
      if (after != nullptr) builder_.CreateBr(after);
    }
    if (after != nullptr) builder_.SetInsertPoint(after);
  }

  template <class Cell>
  void emit_cells(const GateRange& gates, const Columns& columns, Value* first, Value* count,
                  const Cell& cell) {
    CountedLoop rows(builder_, number(0), count, number(1), "cell");
    Value* row = builder_.CreateAdd(first, rows.index());
    const auto cells = [&] {
      function_.for_each_vector(columns, [&](Value* column) {
        Value* sums = function_.scratch_at(function_.strategy.tile);
        Value* index = builder_.CreateMul(
            rows.index(), number(std::int64_t{gates.count} * columns.vectors * code_.lanes()));
        index = builder_.CreateAdd(index, builder_.CreateSub(column, columns.first));
        cell(row, column, [&](int gate) {
          const std::int64_t of_gate =
              std::int64_t{gate - gates.first} * columns.vectors * code_.lanes();
          return code_.load_vector(code_.element(sums, builder_.CreateAdd(index, number(of_gate))));
        });
      });
    };
    function_.at(recurrence_.b, builder_.CreateAdd(function_.first_row, row), [&] {
      if (recurrence_.lengths < 0) return cells();
      Value* length = load_length(row);
      Value* runs = builder_.CreateICmpSLT(step_, length);
      Conditional running(builder_, runs, "running");
      function_.at(recurrence_.t, place_of(step_, length), cells);
      running.close();
      Conditional ended(builder_, builder_.CreateNot(runs), "ended");
      function_.for_each_vector(columns, [&](Value* column) {
        code_.store(state_before(row, column), function_.state(after_, row, column));
      });
      ended.close();
    });
    rows.close();
  }

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  const rkernel::Recurrence& recurrence_;
  CellCode cell_;
  const CellProducts* products_ = nullptr;
  Value *direction_ = nullptr, *rows_ = nullptr;                  ///< of the ticket
  Value *step_ = nullptr, *before_ = nullptr, *after_ = nullptr;  ///< of the step that is written
};

}  // namespace

RecurrenceSlots add_recurrence_slots(codegen::SlotTable& slots) {
  RecurrenceSlots made;
  for (int* slot : {&made.row_blocks, &made.states, &made.next_states, &made.cells, &made.updates,
                    &made.seen, &made.bias, &made.tile, &made.lengths, &made.panels})
    *slot = slots.add_strategy_slot();
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
  codegen::Builder& builder = function.builder;
  Value* first = function.function->getArg(1);
  CountedLoop tickets(builder, first, builder.CreateAdd(first, function.function->getArg(2)),
                      function.number(1), "ticket");
  RecurrenceEmitter(function).emit_ticket(tickets.index());
  tickets.close();
  builder.CreateRetVoid();
}

}  // namespace dyn::cpu
