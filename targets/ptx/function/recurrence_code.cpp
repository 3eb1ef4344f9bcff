// The kernel of a recurrent layer. The sum of a gate is its bias and then the products in the order
// of the state, in f32, so that the bits do not depend on how rows are shared out. A state is read
// by all threads of its group in the step after the one that wrote it: barriers stand between.

#include <array>

#include "src/rkernel/target/device.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/math/recurrent_cell.hpp"
#include "targets/ptx/function/recurrence.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/loop/simplify.hpp"
#include "targets/ptx/sharing/part_memory.hpp"

namespace dyn::ptx {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;
using rkernel::CellKind;
using Values = std::vector<Value*>;

/// An index along an axis, i32.
struct AxisIndex {
  int axis;
  Value* index;
};

class RecurrenceEmitter {
 public:
  RecurrenceEmitter(llvm::Module& module, const std::string& symbol, const RecurrenceProblem& layer,
                    int rows)
      : layer_(layer),
        recurrence_(*layer.problem->recurrence),
        code_(module, symbol, recurrence_shared_bytes(layer, rows), NumberReads::InPlace,
              recurrence_resident),
        builder_(code_.builder()),
        math_(builder_, device_math),
        cell_(builder_, math_, recurrence_.cell,
              {builder_.getFloatTy(), device_math.fma, recurrence_.peepholes >= 0,
               [this](int gate) { return load(recurrence_.gates, inputs_at(gate)); },
               [this](int index) {
                 return load(recurrence_.peepholes, {{recurrence_.d, direction_},
                                                     {recurrence_.g, number(builder_, index)},
                                                     {recurrence_.n, column_}});
               }}),
        rows_(rows) {}

  llvm::Function& emit() {
    const codegen::KernelArgsValues args{code_.function().getArg(0), code_.function().getArg(1),
                                         code_.function().getArg(2)};
    Value* memory = load_part_memory(builder_, args, layer_.parts.size());
    planes_ = at_byte(builder_, memory, builder_.getInt64(rkernel::counter_bytes));
    width_ = builder_.CreateShl(number(builder_, 1), code_.word(layer_.lane_shift));
    lane_ = builder_.CreateAnd(code_.thread(), builder_.CreateSub(width_, number(builder_, 1)));
    CountedLoop tickets(builder_, call(builder_, Op::Block), code_.word(layer_.tickets),
                        call(builder_, Op::Blocks), "ticket");
    take(tickets.index());
    begin();
    call(builder_, Op::Barrier);
    CountedLoop steps(builder_, number(builder_, 0), steps_, number(builder_, 1), "step");
    steps.keep_rolled();
    emit_step(steps.index());
    steps.close();
    end();
    tickets.close();
    builder_.CreateRetVoid();
    return code_.function();
  }

 private:
  struct Row {
    Value *b, *state;  ///< in the batch, in planes
  };

  Value* extent(int axis) { return code_.word(layer_.extents[static_cast<std::size_t>(axis)]); }
  bool has_lengths() const { return recurrence_.lengths >= 0; }
  int gates() const { return rkernel::gates_of(recurrence_.cell.kind); }

  const FunctionPart& part(int operand) const {
    return layer_.parts[static_cast<std::size_t>(operand)];
  }
  Value* pointer(int operand, const std::vector<AxisIndex>& indices) {
    Values values;
    std::vector<int> strides;
    for (const AxisIndex& each : indices) {
      values.push_back(each.index);
      strides.push_back(part(operand).strides[static_cast<std::size_t>(each.axis)]);
    }
    return code_.pointer(part(operand), code_.distance(values, strides));
  }
  Value* load(int operand, const std::vector<AxisIndex>& indices) {
    return code_.from_bits(part(operand),
                           code_.load_bits(part(operand), pointer(operand, indices)));
  }
  void store(int operand, const std::vector<AxisIndex>& indices, Value* value) {
    code_.store_bits(part(operand), pointer(operand, indices), code_.to_bits(part(operand), value));
  }
  std::vector<AxisIndex> inputs_at(int gate) {
    return {{recurrence_.t, time_},
            {recurrence_.b, row_.b},
            {recurrence_.d, direction_},
            {recurrence_.g, number(builder_, gate)},
            {recurrence_.n, column_}};
  }

  /// Where a row of a plane begins, in floats.
  Value* row_floats(Value* plane, Value* row) {
    Value* index =
        builder_.CreateAdd(builder_.CreateMul(plane, code_.word(layer_.state_rows)), row);
    return builder_.CreateMul(index, code_.word(layer_.state_floats));
  }
  Value* float_at(Value* index) {
    return builder_.CreateGEP(builder_.getFloatTy(), planes_,
                              builder_.CreateZExt(index, builder_.getInt64Ty()));
  }
  /// Of the row and column that are written now.
  Value* state(Value* plane) {
    return float_at(builder_.CreateAdd(row_floats(plane, row_.state), column_));
  }
  Value* state(int plane) { return state(number(builder_, plane)); }
  Value* load_state(Value* at) {
    return builder_.CreateAlignedLoad(builder_.getFloatTy(), at, llvm::Align(4));
  }
  void store_state(Value* value, Value* at) {
    builder_.CreateAlignedStore(value, at, llvm::Align(4));
  }

  void take(Value* ticket) {
    const std::array<Digit, 2> digits{layer_.directions, layer_.tiles};
    const Values at = code_.split(ticket, digits);
    direction_ = at[0];
    Value* rows = number(builder_, rows_);
    Value* of_block = builder_.CreateMul(rows, code_.word(layer_.groups));
    Value* first = builder_.CreateMul(at[1], of_block);
    Value* group = builder_.CreateLShr(code_.thread(), code_.word(layer_.lane_shift));
    first_row_ = builder_.CreateAdd(first, builder_.CreateMul(group, rows));
    rows_left_ = smaller(builder_, rows, builder_.CreateSub(extent(recurrence_.b), first_row_));
    reversed_ = recurrence_.reversed ? builder_.getTrue()
                                     : builder_.CreateICmpNE(direction_, number(builder_, 0));
    steps_ = has_lengths() ? longest(first, of_block) : extent(recurrence_.t);
  }
  Value* state_row(Value* b) {
    return builder_.CreateAdd(builder_.CreateMul(direction_, extent(recurrence_.b)), b);
  }
  /// The last row stands for those behind it: loads read what is there.
  Value* existing(Value* index) {
    return smaller(builder_, index, builder_.CreateSub(extent(recurrence_.b), number(builder_, 1)));
  }

  /// 0 for one that is out of range.
  Value* length_of(Value* b) {
    Value* all = extent(recurrence_.t);
    if (!has_lengths()) return all;
    Value* length = load(recurrence_.lengths, {{recurrence_.b, b}});
    Value* wrong = builder_.CreateICmpUGT(length, all);
    code_.report(wrong);
    return builder_.CreateSelect(wrong, number(builder_, 0), length);
  }
  /// Of the block's rows: all of its threads meet at the barriers of so many steps.
  Value* longest(Value* first, Value* count) {
    CountedLoop rows(builder_, number(builder_, 0), count, number(builder_, 1), "length",
                     {{number(builder_, 0)}});
    rows.keep_rolled();
    Value* length = length_of(existing(builder_.CreateAdd(first, rows.index())));
    return rows.close({{larger(builder_, length, rows.carried(0))}}).front();
  }

  template <class Body>
  void for_columns(const Body& body) {
    CountedLoop columns(builder_, lane_, extent(recurrence_.n), width_, "column");
    columns.keep_rolled();
    column_ = columns.index();
    body();
    columns.close();
  }
  /// body(its number) for each row of the thread.
  template <class Body>
  void for_rows(const Body& body) {
    CountedLoop rows(builder_, number(builder_, 0), rows_left_, number(builder_, 1), "row");
    rows.keep_rolled();
    row_.b = builder_.CreateAdd(first_row_, rows.index());
    row_.state = state_row(row_.b);
    body(rows.index());
    rows.close();
  }

  std::vector<AxisIndex> state_at() {
    return {{recurrence_.d, direction_}, {recurrence_.b, row_.b}, {recurrence_.n, column_}};
  }
  Value* first_state(int operand) {
    return operand < 0 ? llvm::ConstantFP::get(builder_.getFloatTy(), 0)
                       : load(operand, state_at());
  }

  void begin() {
    for_columns([&] {
      for_rows([&](Value*) {
        store_state(first_state(recurrence_.h), state(even_states));
        if (recurrence_.cell.kind == CellKind::Lstm)
          store_state(first_state(recurrence_.c), state(cell_states));
        if (has_lengths()) clear_steps();
      });
    });
  }
  void clear_steps() {
    CountedLoop steps(builder_, length_of(row_.b), extent(recurrence_.t), number(builder_, 1),
                      "clear");
    time_ = steps.index();
    store_step(llvm::ConstantFP::get(builder_.getFloatTy(), 0));
    steps.close();
  }
  void store_step(Value* value) {
    std::vector<AxisIndex> at = state_at();
    at.push_back({recurrence_.t, time_});
    store(recurrence_.y, at, value);
  }

  void end() {
    Value* last = builder_.CreateAnd(steps_, number(builder_, 1));
    for_columns([&] {
      for_rows([&](Value*) {
        store(recurrence_.last_h, state_at(), load_state(state(last)));
        if (recurrence_.cell.kind == CellKind::Lstm)
          store(recurrence_.last_c, state_at(), load_state(state(cell_states)));
      });
    });
  }

  void emit_step(Value* step) {
    step_ = step;
    before_ = builder_.CreateAnd(step, number(builder_, 1));
    after_ = builder_.CreateXor(before_, number(builder_, 1));
    if (phases_of(recurrence_.cell) == 1) {
      for_columns([&] {
        leave_sums(0, gates(), before_);
        emit_cells([&](const Values& sums) { return state_after(sums); }, gates());
      });
      call(builder_, Op::Barrier);
      return;
    }
    for_columns([&] {
      leave_sums(0, 2, before_);
      for_rows([&](Value* index) {
        where_running([&] {
          const Values sums = sums_of(index, 2);
          const auto own = cell_.gru_gates(sums[0], sums[1]);
          store_state(own.update, state(updates));
          store_state(builder_.CreateFMul(own.reset, state_before()), state(reset_states));
        });
      });
    });
    call(builder_, Op::Barrier);
    for_columns([&] {
      leave_sums(2, 1, number(builder_, reset_states));
      emit_cells(
          [&](const Values& sums) {
            return cell_.gru(load_state(state(updates)), sums[0], state_before());
          },
          1);
    });
    call(builder_, Op::Barrier);
  }

  Value* state_before() { return load_state(state(before_)); }

  Value* state_after(const Values& sums) {
    switch (recurrence_.cell.kind) {
      case CellKind::Lstm: {
        Value* place = state(cell_states);
        const auto after = cell_.lstm({sums[0], sums[1], sums[2], sums[3]}, load_state(place));
        store_state(after.c, place);
        return after.h;
      }
      case CellKind::Gru: {
        const auto own = cell_.gru_gates(sums[0], sums[1]);
        return cell_.gru(own.update, builder_.CreateFMul(own.reset, sums[2]), state_before());
      }
      case CellKind::Rnn: break;
    }
    return cell_.rnn(sums[0]);
  }

  /// body() where the row has not ended, with the time set; returns its condition.
  template <class Body>
  Value* where_running(const Body& body) {
    Value* length = length_of(row_.b);
    Value* runs = builder_.CreateICmpSLT(step_, length);
    Conditional running(builder_, runs, "running");
    Value* from_end = builder_.CreateSub(builder_.CreateSub(length, number(builder_, 1)), step_);
    time_ = builder_.CreateSelect(reversed_, from_end, step_);
    body();
    running.close();
    return runs;
  }

  /// Stores the states after the step, cell(sums); rows that have ended keep theirs.
  template <class Cell>
  void emit_cells(const Cell& cell, int count) {
    for_rows([&](Value* index) {
      Value* runs = where_running([&] {
        Value* value = cell(sums_of(index, count));
        store_state(value, state(after_));
        store_step(value);
      });
      if (!has_lengths()) return;
      Conditional ended(builder_, builder_.CreateNot(runs), "ended");
      store_state(state_before(), state(after_));
      ended.close();
    });
  }

  /// A thread's sums of a row and gate, in shared memory, which no other thread touches.
  Value* sum_place(Value* row, int gate, int count) {
    Value* index = builder_.CreateAdd(builder_.CreateMul(row, number(builder_, count)),
                                      number(builder_, gate));
    index = builder_.CreateAdd(builder_.CreateMul(index, number(builder_, function_threads)),
                               code_.thread());
    return builder_.CreateGEP(builder_.getFloatTy(), call(builder_, Op::Shared), index);
  }
  Values sums_of(Value* row, int count) {
    Values sums;
    for (int gate = 0; gate < count; ++gate)
      sums.push_back(load_state(sum_place(row, gate, count)));
    return sums;
  }

  /// Of each row, and of each of some gates, at the thread's column: the bias and the products with
  /// a plane of states.
  void leave_sums(int first_gate, int count, Value* plane) {
    Values begins, sums, states;
    for (int gate = first_gate; gate < first_gate + count; ++gate) {
      const std::vector<AxisIndex> at{{recurrence_.d, direction_},
                                      {recurrence_.g, number(builder_, gate)},
                                      {recurrence_.n, column_}};
      begins.push_back(pointer(recurrence_.r, at));
      sums.push_back(recurrence_.bias < 0 ? llvm::ConstantFP::get(builder_.getFloatTy(), 0)
                                          : load(recurrence_.bias, at));
    }
    const Values biases = sums;
    for (int row = 1; row < rows_; ++row) sums.insert(sums.end(), biases.begin(), biases.end());
    for (int row = 0; row < rows_; ++row) {
      Value* b = existing(builder_.CreateAdd(first_row_, number(builder_, row)));
      states.push_back(row_floats(plane, state_row(b)));
    }
    const int together = rows_ == 1 ? 2 * recurrence_row_floats : recurrence_row_floats;
    Value *depth = extent(recurrence_.k),
          *whole = builder_.CreateAnd(depth, number(builder_, -together));
    sums = add_products(number(builder_, 0), whole, together, begins, states, sums);
    sums = add_products(whole, depth, 1, begins, states, sums);
    for (int i = 0; i < rows_ * count; ++i)
      store_state(sums[static_cast<std::size_t>(i)],
                  sum_place(number(builder_, i / count), i % count, count));
  }

  /// Adds the products of elements begin .. end - 1 of the states, so many of which are loaded at
  /// once.
  Values add_products(Value* begin, Value* end, int together, const Values& weights,
                      const Values& states, const Values& sums) {
    Value* stride =
        code_.wide(part(recurrence_.r).strides[static_cast<std::size_t>(recurrence_.k)]);
    CountedLoop loop(builder_, begin, end, number(builder_, together), "k", sums);
    loop.keep_rolled();
    Value* at =
        builder_.CreateMul(builder_.CreateZExt(loop.index(), builder_.getInt64Ty()), stride);
    std::vector<Values> loaded;
    for (int i = 0; i < together; ++i) {
      Values& step = loaded.emplace_back();
      for (Value* gate : weights) step.push_back(weight(gate, at));
      at = builder_.CreateAdd(at, stride);
    }
    Values next;
    for (std::size_t i = 0; i < sums.size(); ++i) next.push_back(loop.carried(i));
    for (std::size_t row = 0; row < states.size(); ++row) {
      const Values elements =
          state_elements(builder_.CreateAdd(states[row], loop.index()), together);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        for (std::size_t gate = 0; gate < weights.size(); ++gate) {
          Value*& sum = next[row * weights.size() + gate];
          sum = math_.fused(elements[i], loaded[i][gate], sum);
        }
      }
    }
    return loop.close(next);
  }
  Value* weight(Value* begin, Value* distance) {
    const FunctionPart& r = part(recurrence_.r);
    llvm::Type* bits = builder_.getIntNTy(static_cast<unsigned>(8 * size_of(r.dtype)));
    return code_.from_bits(r, code_.load_bits(r, builder_.CreateGEP(bits, begin, distance)));
  }
  Values state_elements(Value* index, int count) {
    Value* at = float_at(index);
    if (count == 1) return {load_state(at)};
    constexpr int lanes = recurrence_row_floats;
    llvm::Type* vector = llvm::FixedVectorType::get(builder_.getFloatTy(), lanes);
    Values elements;
    for (int first = 0; first < count; first += lanes) {
      Value* place =
          builder_.CreateConstGEP1_64(vector, at, static_cast<std::uint64_t>(first / lanes));
      Value* some = builder_.CreateAlignedLoad(vector, place, llvm::Align(16));
      for (std::uint64_t i = 0; i < lanes; ++i)
        elements.push_back(builder_.CreateExtractElement(some, i));
    }
    return elements;
  }

  const RecurrenceProblem& layer_;
  const rkernel::Recurrence& recurrence_;
  FunctionCode code_;
  codegen::Builder& builder_;
  codegen::Math math_;
  codegen::CellCode cell_;
  const int rows_;  ///< of a group
  Value *planes_ = nullptr, *width_ = nullptr, *lane_ = nullptr;
  // Of the ticket; rows_left_: of the thread, in the batch.
  Value *direction_ = nullptr, *reversed_ = nullptr, *steps_ = nullptr;
  Value *first_row_ = nullptr, *rows_left_ = nullptr;
  Value *step_ = nullptr, *before_ = nullptr, *after_ = nullptr;
  // What is written now: a column, a row, and its time.
  Value *column_ = nullptr, *time_ = nullptr;
  Row row_{};
};

}  // namespace

void emit_recurrence(llvm::Module& module, const std::string& symbol,
                     const RecurrenceProblem& layer, int rows) {
  simplify_in_place(RecurrenceEmitter(module, symbol, layer, rows).emit());
}

}  // namespace dyn::ptx
