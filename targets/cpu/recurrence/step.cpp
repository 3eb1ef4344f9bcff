#include "targets/cpu/recurrence/step.hpp"

#include "src/base/bytes.hpp"

namespace dyn::cpu {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;
using rkernel::CellKind;

Value* length_place(RecurrenceFunction& function, Value* row) {
  return function.builder.CreateGEP(function.builder.getInt64Ty(),
                                    function.memory_at(function.strategy.lengths), row);
}

codegen::CellCode::Reader StepCode::reader() {
  return {code_.vector_type(), code_.isa().fma, recurrence_.peepholes >= 0,
          [this](int gate) { return load_of(recurrence_.gates, gate); },
          [this](int index) { return load_of(recurrence_.peepholes, index); }};
}

Value* StepCode::load_of(int operand, int gate) {
  function_.operands.set_index(recurrence_.g, number(gate));
  Value* value = function_.load(operand);
  function_.operands.set_index(recurrence_.g, nullptr);
  return value;
}

/// The step's place in the tensors of a row of that length.
Value* StepCode::time_of(Value* length) {
  Value* from_end = builder_.CreateSub(builder_.CreateSub(length, number(1)), place_.step);
  return builder_.CreateSelect(rows_.reversed, from_end, place_.step);
}

void StepCode::emit(int phase, const Place& place) {
  place_ = place;
  if (recurrence_.lengths >= 0) return emit_phase(phase);
  function_.at(recurrence_.t, time_of(function_.extent(recurrence_.t)), [&] { emit_phase(phase); });
}

void StepCode::emit_phase(int phase) {
  if (phases_of(recurrence_.cell) == 1)
    return emit_gates({0, function_.gates}, place_.before,
                      [&](Value* row, Value* column, const auto& sum) {
                        finish(row, column, state_after(row, column, sum));
                      });
  const RecurrenceSlots& slots = function_.strategy;
  if (phase == 0)
    return emit_gates({0, 2}, place_.before, [&](Value* row, Value* column, const auto& sum) {
      const codegen::CellCode::Gates gates = cell_.gru_gates(sum(0), sum(1));
      code_.store(gates.update, at(slots.updates, row, column));
      code_.store(builder_.CreateFMul(gates.reset, state_before(row, column)),
                  at(slots.seen, row, column));
    });
  emit_gates({2, 1}, function_.memory_at(slots.seen),
             [&](Value* row, Value* column, const auto& sum) {
               Value* update = code_.load_vector(at(slots.updates, row, column));
               finish(row, column, cell_.gru(update, sum(2), state_before(row, column)));
             });
}

template <class Sum>
Value* StepCode::state_after(Value* row, Value* column, const Sum& sum) {
  switch (recurrence_.cell.kind) {
    case CellKind::Lstm: {
      Value* place = at(function_.strategy.cells, row, column);
      const codegen::CellCode::State state =
          cell_.lstm({sum(0), sum(1), sum(2), sum(3)}, code_.load_vector(place));
      code_.store(state.c, place);
      return state.h;
    }
    case CellKind::Gru: {
      const codegen::CellCode::Gates gates = cell_.gru_gates(sum(0), sum(1));
      return cell_.gru(gates.update, builder_.CreateFMul(gates.reset, sum(2)),
                       state_before(row, column));
    }
    case CellKind::Rnn: break;
  }
  return cell_.rnn(sum(0));
}

void StepCode::finish(Value* row, Value* column, Value* state) {
  code_.store(state, function_.state(place_.after, row, column));
  function_.operands.store(recurrence_.y, state);
}

/// Calls cell(row, column, sum) for each row and vector of columns, sum(gate) being the sums of
/// these gates there. Rows that have ended keep their state.
template <class Cell>
void StepCode::emit_gates(const GateRange& gates, Value* states, const Cell& cell) {
  const CellTile tile = cell_tile(code_.isa(), function_.shape_class.form, gates.count);
  if (quantised_) quantised_->emit(states, rows_.count);
  function_.for_each_columns(place_.columns, tile.vectors, [&](const Columns& columns) {
    CountedLoop tiles(builder_, number(0), rows_.count, number(tile.rows), "tile");
    Value* left = builder_.CreateSub(rows_.count, tiles.index());
    Value* count = code_.minimum(left, number(tile.rows));
    const auto sums_of = [&](Value* rows, Value* stride) {
      emit_sums({rows, stride, gates.first, gates.count, columns, tile.rows}, count);
    };
    if (quantised_)
      sums_of(quantised_->elements(tiles.index()),
              builder_.CreateUDiv(quantised_->row_bytes(), number(float_bytes)));
    else
      sums_of(function_.state(states, tiles.index(), number(0)), function_.row_stride);
    emit_cells(gates, columns, tiles.index(), count, cell);
    tiles.close();
  });
}

/// Leaves the sums of `count` rows in scratch: code for every number of rows up to the tile's.
void StepCode::emit_sums(const CellProducts::Tile& tile, Value* count) {
  const auto emit = [&](int rows) {
    CellProducts::Tile lower = tile;
    lower.rows = rows;
    const CellProducts::Values sums = products_.emit(lower);
    for (std::size_t i = 0; i < sums.size(); ++i)
      code_.store(sums[i], code_.element(function_.scratch,
                                         number(static_cast<std::int64_t>(i) * code_.lanes())));
  };
  if (tile.rows == 1) return emit(1);
  llvm::BasicBlock *whole = function_.block("whole_tile"), *summed = function_.block("summed");
  llvm::SwitchInst* choice =
      builder_.CreateSwitch(count, whole, static_cast<unsigned>(tile.rows - 1));
  for (int rows = tile.rows; rows > 0; --rows) {
    llvm::BasicBlock* here = rows == tile.rows ? whole : function_.block("rows_left");
    if (rows < tile.rows) choice->addCase(number(rows), here);
    builder_.SetInsertPoint(here);
    emit(rows);
    builder_.CreateBr(summed);
  }
  builder_.SetInsertPoint(summed);
}

/// What the integers, which lie in vectors of f32, stand for; and the bias.
Value* StepCode::rescaled(Value* sums, int gate, Value* column,
                          const QuantisedStates::Numbers& numbers) {
  Value* whole =
      builder_.CreateBitCast(sums, codegen::lanes_of(builder_.getInt32Ty(), code_.lanes()));
  if (recurrence_.group == rkernel::Group::Bytes)
    whole = builder_.CreateSub(
        whole, builder_.CreateMul(numbers.zero_point, products_.column_sums(gate, column)));
  Value* scale = load_of(recurrence_.scales, gate);
  Value* product = builder_.CreateFMul(builder_.CreateSIToFP(whole, code_.vector_type()),
                                       builder_.CreateFMul(numbers.scale, scale));
  if (recurrence_.bias < 0) return product;
  Value* biases = function_.memory_at(function_.strategy.bias);
  return builder_.CreateFAdd(product,
                             code_.load_vector(function_.state(biases, number(gate), column)));
}

template <class Cell>
void StepCode::emit_cells(const GateRange& gates, const Columns& columns, Value* first,
                          Value* count, const Cell& cell) {
  CountedLoop rows(builder_, number(0), count, number(1), "cell");
  Value* row = builder_.CreateAdd(first, rows.index());
  const std::int64_t gate_floats = std::int64_t{columns.vectors} * code_.lanes();
  Value* sums = code_.element(function_.scratch,
                              builder_.CreateMul(rows.index(), number(gates.count * gate_floats)));
  const auto cells = [&] {
    std::optional<QuantisedStates::Numbers> numbers;
    if (quantised_) numbers = quantised_->numbers(row);
    function_.for_each_vector(columns, [&](Value* column) {
      Value* in_tile = builder_.CreateSub(column, columns.first);
      cell(row, column, [&](int gate) {
        Value* sum = code_.load_vector(code_.element(
            sums, builder_.CreateAdd(in_tile, number((gate - gates.first) * gate_floats))));
        return numbers ? rescaled(sum, gate, column, *numbers) : sum;
      });
    });
  };
  function_.at(recurrence_.b, builder_.CreateAdd(function_.first_row, row), [&] {
    if (recurrence_.lengths < 0) return cells();
    Value* length = builder_.CreateAlignedLoad(builder_.getInt64Ty(), length_place(function_, row),
                                               llvm::Align(8));
    Value* runs = builder_.CreateICmpSLT(place_.step, length);
    Conditional running(builder_, runs, "running");
    function_.at(recurrence_.t, time_of(length), cells);
    running.close();
    Conditional ended(builder_, builder_.CreateNot(runs), "ended");
    function_.for_each_vector(columns, [&](Value* column) {
      code_.store(state_before(row, column), function_.state(place_.after, row, column));
    });
    ended.close();
  });
  rows.close();
}

}  // namespace dyn::cpu
