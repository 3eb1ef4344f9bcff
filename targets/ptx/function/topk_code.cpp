// The kernels of a topk. Elements are compared by a key, an unsigned number which is smaller where
// the element comes first, and by their index where keys are equal: no two are alike, so the result
// does not depend on the order in which threads find them.

#include <bit>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/function/topk.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/loop/simplify.hpp"

namespace dyn::ptx {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using codegen::RepeatedBody;
using llvm::Value;
using Values = std::vector<Value*>;

constexpr int no_index = 0x7fffffff;

/// What the order sees of an element.
struct Entry {
  Value *key, *index;
};

/// Both ways: rows, keys, results.
class TopkCode {
 public:
  TopkCode(llvm::Module& module, const std::string& symbol, const TopkProblem& topk,
           const TopkForm& form)
      : topk_(topk),
        form_(form),
        code_(module, symbol, topk_shared_bytes(form, topk.dtype), NumberReads::Ahead,
              form.elements > 8 ? 2 : function_resident),
        builder_(code_.builder()),
        lane_(builder_.CreateAnd(code_.thread(), number(builder_, 31))),
        warp_(builder_.CreateLShr(code_.thread(), 5)),
        key_type_(builder_.getIntNTy(static_cast<unsigned>(topk_key_bits(topk.dtype)))) {}

 protected:
  void take_row(Value* row) {
    const Values digits = code_.split(row, topk_.digits);
    x_ = code_.distance(digits, topk_.x.strides);
    values_ = code_.distance(digits, topk_.values.strides);
    places_ = code_.distance(digits, topk_.places.strides);
  }

  /// Behind all that exist.
  Entry none() {
    return {llvm::ConstantInt::getAllOnesValue(key_type_), number(builder_, no_index)};
  }
  Value* is_before(const Entry& a, const Entry& b) {
    Value* by_index = builder_.CreateAnd(builder_.CreateICmpEQ(a.key, b.key),
                                         builder_.CreateICmpSLT(a.index, b.index));
    return builder_.CreateOr(builder_.CreateICmpULT(a.key, b.key), by_index);
  }
  Entry chosen(Value* first, const Entry& a, const Entry& b) {
    return {builder_.CreateSelect(first, a.key, b.key),
            builder_.CreateSelect(first, a.index, b.index)};
  }

  Value* place(const FunctionPart& part, Value* row, int step, Value* index) {
    return code_.pointer(part, builder_.CreateAdd(row, code_.distance({{index}}, {{step}})));
  }
  Value* load_bits(Value* index) {
    return code_.load_bits(topk_.x, place(topk_.x, x_, topk_.x_step, index));
  }
  /// none() beyond the row.
  Entry load(Value* index) {
    Value* exists = builder_.CreateICmpSLT(index, code_.word(topk_.extent));
    Conditional inside(builder_, exists, "element");
    Value* key = key_of(load_bits(index));
    key = inside.close({{key}}, {{none().key}}).front();
    return {key, builder_.CreateSelect(exists, index, none().index)};
  }

  void store_result(Value* rank, Value* index) {
    code_.store_bits(topk_.values, place(topk_.values, values_, topk_.value_step, rank),
                     load_bits(index));
    code_.store_bits(topk_.places, place(topk_.places, places_, topk_.place_step, rank),
                     builder_.CreateZExt(index, builder_.getInt64Ty()));
  }

  /// NaN is larger than all others, and zeros are equal.
  Value* key_of(Value* bits) {
    const auto width = static_cast<unsigned>(8 * size_of(topk_.dtype));
    Value* key = is_float(topk_.dtype) ? float_order(bits, width)
                 : is_integer(topk_.dtype) && !is_unsigned(topk_.dtype)
                     ? builder_.CreateXor(bits, sign_bit(width))
                     : bits;
    key = builder_.CreateZExt(key, key_type_);
    return topk_.largest ? builder_.CreateNot(key) : key;
  }

 private:
  static llvm::APInt sign_mask(unsigned width) { return llvm::APInt::getSignMask(width); }
  Value* constant(const llvm::APInt& bits) {
    return llvm::ConstantInt::get(builder_.getContext(), bits);
  }
  Value* sign_bit(unsigned width) { return constant(sign_mask(width)); }
  unsigned mantissa_bits() const {
    switch (topk_.dtype) {
      case DType::f16: return 10;
      case DType::bf16: return 7;
      case DType::f64: return 52;
      default: return 23;
    }
  }
  /// The bits of a float as an unsigned number of its order.
  Value* float_order(Value* bits, unsigned width) {
    Value* sign = sign_bit(width);
    Value* magnitude = builder_.CreateAnd(bits, constant(~sign_mask(width)));
    llvm::APInt infinity = ~sign_mask(width);
    infinity.clearLowBits(mantissa_bits());
    Value* is_negative = builder_.CreateICmpSLT(bits, llvm::ConstantInt::get(bits->getType(), 0));
    Value* order =
        builder_.CreateSelect(is_negative, builder_.CreateNot(bits), builder_.CreateOr(bits, sign));
    Value* is_zero = builder_.CreateICmpEQ(magnitude, llvm::ConstantInt::get(bits->getType(), 0));
    order = builder_.CreateSelect(is_zero, sign, order);
    Value* is_nan = builder_.CreateICmpUGT(magnitude, constant(infinity));
    return builder_.CreateSelect(is_nan, llvm::ConstantInt::getAllOnesValue(bits->getType()),
                                 order);
  }

 protected:
  const TopkProblem& topk_;
  const TopkForm form_;
  FunctionCode code_;
  codegen::Builder& builder_;
  Value *lane_, *warp_;
  llvm::IntegerType* key_type_;
  Value *x_ = nullptr, *values_ = nullptr, *places_ = nullptr;  ///< distances of the row
};

/// A row in the registers of a warp.
class WarpTopk final : public TopkCode {
 public:
  using TopkCode::TopkCode;

  llvm::Function& emit() {
    CountedLoop tickets(builder_, call(builder_, Op::Block), code_.word(topk_.tickets),
                        call(builder_, Op::Blocks), "ticket");
    Value* row = builder_.CreateAdd(
        builder_.CreateMul(tickets.index(), number(builder_, topk_warps)), warp_);
    Conditional exists(builder_, builder_.CreateICmpSLT(row, code_.word(topk_.rows)), "row");
    take_row(row);
    for (int i = 0; i < form_.elements; ++i)
      entries_.push_back(load(builder_.CreateAdd(lane_, number(builder_, 32 * i))));
    emit_results();
    exists.close();
    tickets.close();
    builder_.CreateRetVoid();
    return code_.function();
  }

 private:
  /// In each round the first of those that are left, of which bits remember the others.
  void emit_results() {
    CountedLoop ranks(builder_, number(builder_, 0), code_.word(topk_.count), number(builder_, 1),
                      "rank", {{number(builder_, 0)}});
    Value* taken = ranks.carried(0);
    Entry best = none();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      // Of a thread's elements the earlier ones have smaller indices.
      Value* first = builder_.CreateICmpULT(entries_[i].key, best.key);
      Value* is_free =
          builder_.CreateICmpEQ(builder_.CreateAnd(taken, bit(i)), number(builder_, 0));
      Value* only = builder_.CreateAnd(builder_.CreateICmpEQ(entries_[i].key, best.key),
                                       builder_.CreateICmpSLT(entries_[i].index, best.index));
      best = chosen(builder_.CreateAnd(is_free, builder_.CreateOr(first, only)), entries_[i], best);
    }
    const Entry own = best;
    for (int distance = 16; distance > 0; distance /= 2) {
      Value* lane = builder_.CreateXor(lane_, number(builder_, distance));
      const Entry other{of_lane(builder_, best.key, lane), of_lane(builder_, best.index, lane)};
      best = chosen(is_before(other, best), other, best);
    }
    Value* is_own = builder_.CreateICmpEQ(own.index, best.index);
    Conditional stores(builder_, is_own, "result");
    store_result(ranks.index(), best.index);
    stores.close();
    Value* element = builder_.CreateLShr(best.index, 5);
    Value* now = builder_.CreateShl(number(builder_, 1), element);
    ranks.close({{builder_.CreateSelect(is_own, builder_.CreateOr(taken, now), taken)}});
  }
  Value* bit(std::size_t i) { return builder_.getInt32(1U << i); }

  std::vector<Entry> entries_;
};

/// A row that a block goes through. Entries in shared memory: those of the first `held` that are
/// sorted, and behind them what came since and is before the last of them.
class BlockTopk final : public TopkCode {
 public:
  using TopkCode::TopkCode;

  llvm::Function& emit() {
    Value* shared = call(builder_, Op::Shared);
    const auto key_bytes = static_cast<int>(key_type_->getBitWidth() / 8);
    keys_ = shared;
    indices_ = at_byte(builder_, shared, number(builder_, topk_entries * key_bytes));
    totals_ = at_byte(builder_, indices_, number(builder_, topk_entries * 4));
    CountedLoop tickets(builder_, call(builder_, Op::Block), code_.word(topk_.tickets),
                        call(builder_, Op::Blocks), "ticket");
    take_row(tickets.index());
    Value* count = code_.word(topk_.count);
    CountedLoop ways(builder_, number(builder_, 0), count, number(builder_, topk_results), "way",
                     {{llvm::ConstantInt::get(key_type_, 0), number(builder_, -1)}});
    wanted_ =
        smaller(builder_, builder_.CreateSub(count, ways.index()), number(builder_, topk_results));
    const Entry last = emit_way(ways.index(), {ways.carried(0), ways.carried(1)});
    ways.close({{last.key, last.index}});
    tickets.close();
    builder_.CreateRetVoid();
    return code_.function();
  }

 private:
  /// Results from rank `first` on, all of them behind `lower`. Returns the last one.
  Entry emit_way(Value* first, const Entry& lower) {
    Value* step = number(builder_, function_threads * form_.elements);
    CountedLoop steps(builder_, number(builder_, 0), code_.word(topk_.extent), step, "step",
                      {{number(builder_, 0), none().key, none().index, number(builder_, 0)}});
    State state{steps.carried(0), {steps.carried(1), steps.carried(2)}, steps.carried(3)};
    std::vector<Entry> entries;
    Values waiting;
    for (int i = 0; i < form_.elements; ++i) {
      Value* index = builder_.CreateAdd(steps.index(), number(builder_, function_threads * i));
      entries.push_back(load(builder_.CreateAdd(index, code_.thread())));
      // none() is before no bound.
      waiting.push_back(builder_.CreateAnd(is_before(lower, entries.back()),
                                           is_before(entries.back(), state.bound)));
    }
    state = take_in(entries, waiting, state);
    const Values after =
        steps.close({{state.held, state.bound.key, state.bound.index, state.turn}});
    // What threads have written is there.
    call(builder_, Op::Barrier);
    sort(after[0]);
    CountedLoop results(builder_, code_.thread(), wanted_, number(builder_, function_threads),
                        "result");
    store_result(builder_.CreateAdd(first, results.index()), entry(results.index()).index);
    results.close();
    const Entry last = entry(builder_.CreateSub(wanted_, number(builder_, 1)));
    // The next way, or row, writes entries.
    call(builder_, Op::Barrier);
    return last;
  }

  /// `held` entries; what comes must be before `bound`; `turn` counts uses of totals_.
  struct State {
    Value* held;
    Entry bound;
    Value* turn;
  };

  /// Writes all that wait behind the entries, and sorts where there is no more room.
  State take_in(const std::vector<Entry>& entries, const Values& waiting, const State& before) {
    Values carried{before.held, before.bound.key, before.bound.index, before.turn};
    carried.insert(carried.end(), waiting.begin(), waiting.end());
    RepeatedBody rounds(builder_, "round", carried);
    State state{rounds.carried(0), {rounds.carried(1), rounds.carried(2)}, rounds.carried(3)};
    Values ballots;
    for (std::size_t i = 0; i < entries.size(); ++i)
      ballots.push_back(call(builder_, Op::Ballot, {rounds.carried(4 + i), number(builder_, -1)}));
    const Offsets offsets = offsets_of(ballots, state.turn);
    Value* at = builder_.CreateAdd(state.held, offsets.of_warp);
    Value* below =
        builder_.CreateSub(builder_.CreateShl(number(builder_, 1), lane_), number(builder_, 1));
    Values left;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      Value* own = builder_.CreateAdd(at, ones(builder_, builder_.CreateAnd(ballots[i], below)));
      Value* fits = builder_.CreateICmpSLT(own, number(builder_, topk_entries));
      Conditional writes(builder_, builder_.CreateAnd(rounds.carried(4 + i), fits), "write");
      set(own, entries[i]);
      writes.close();
      left.push_back(builder_.CreateAnd(rounds.carried(4 + i), builder_.CreateNot(fits)));
      at = builder_.CreateAdd(at, ones(builder_, ballots[i]));
    }
    Value* all = builder_.CreateAdd(state.held, offsets.total);
    Value* is_full = builder_.CreateICmpSGT(all, number(builder_, topk_entries));
    const Values sorted = where_full(is_full, {all, state.bound, nullptr});
    const Entry bound{sorted[1], sorted[2]};
    Values next{sorted[0], bound.key, bound.index,
                builder_.CreateAdd(state.turn, number(builder_, 1))};
    for (std::size_t i = 0; i < entries.size(); ++i)
      next.push_back(builder_.CreateAnd(left[i], is_before(entries[i], bound)));
    const Values after = rounds.close(next, is_full);
    return {after[0], {after[1], after[2]}, after[3]};
  }

  /// Sorts all entries, and keeps those that are wanted.
  Values where_full(Value* is_full, const State& state) {
    Conditional full(builder_, is_full, "full");
    call(builder_, Op::Barrier);
    sort(number(builder_, topk_entries));
    const Entry last = entry(builder_.CreateSub(wanted_, number(builder_, 1)));
    // Entries behind the wanted ones are written again.
    call(builder_, Op::Barrier);
    return full.close({{wanted_, last.key, last.index}},
                      {{state.held, state.bound.key, state.bound.index}});
  }

  struct Offsets {
    Value *of_warp, *total;
  };
  /// How many elements wait in the warps before the thread's, and in all. Two turns have totals of
  /// their own: who writes those of a turn has met all others after the turn before the last.
  Offsets offsets_of(const Values& ballots, Value* turn) {
    Value* own = number(builder_, 0);
    for (Value* ballot : ballots) own = builder_.CreateAdd(own, ones(builder_, ballot));
    Value* buffer = builder_.CreateMul(builder_.CreateAnd(turn, number(builder_, 1)),
                                       number(builder_, topk_warps));
    const auto total_at = [&](Value* warp) {
      return builder_.CreateGEP(builder_.getInt32Ty(), totals_, builder_.CreateAdd(buffer, warp));
    };
    Conditional first(builder_, builder_.CreateICmpEQ(lane_, number(builder_, 0)), "first_lane");
    builder_.CreateAlignedStore(own, total_at(warp_), llvm::Align(4));
    first.close();
    call(builder_, Op::Barrier);
    Offsets offsets{number(builder_, 0), number(builder_, 0)};
    for (int warp = 0; warp < topk_warps; ++warp) {
      Value* is_own = builder_.CreateICmpEQ(warp_, number(builder_, warp));
      offsets.of_warp = builder_.CreateSelect(is_own, offsets.total, offsets.of_warp);
      Value* of_warp = builder_.CreateAlignedLoad(builder_.getInt32Ty(),
                                                  total_at(number(builder_, warp)), llvm::Align(4));
      offsets.total = builder_.CreateAdd(offsets.total, of_warp);
    }
    return offsets;
  }

  Value* key_at(Value* place) { return builder_.CreateGEP(key_type_, keys_, place); }
  Value* index_at(Value* place) {
    return builder_.CreateGEP(builder_.getInt32Ty(), indices_, place);
  }
  llvm::Align key_align() const { return llvm::Align(key_type_->getBitWidth() / 8); }
  Entry entry(Value* place) {
    return {builder_.CreateAlignedLoad(key_type_, key_at(place), key_align()),
            builder_.CreateAlignedLoad(builder_.getInt32Ty(), index_at(place), llvm::Align(4))};
  }
  void set(Value* place, const Entry& entry) {
    builder_.CreateAlignedStore(entry.key, key_at(place), key_align());
    builder_.CreateAlignedStore(entry.index, index_at(place), llvm::Align(4));
  }

  /// Batcher's bitonic sort (1968) of so many entries, filled up to a power of two. A barrier
  /// stands before it, and behind it.
  void sort(Value* held) {
    constexpr int most = std::bit_width(static_cast<unsigned>(topk_entries)) - 1;
    Value* stages = number(builder_, 0);
    for (int stage = 0; stage < most; ++stage) {
      Value* larger = builder_.CreateICmpSGT(held, number(builder_, 1 << stage));
      stages = builder_.CreateAdd(stages, builder_.CreateZExt(larger, builder_.getInt32Ty()));
    }
    Value* one = number(builder_, 1);
    Value* size = builder_.CreateShl(one, stages);
    CountedLoop rest(builder_, builder_.CreateAdd(held, code_.thread()), size,
                     number(builder_, function_threads), "rest");
    set(rest.index(), none());
    rest.close();
    call(builder_, Op::Barrier);
    CountedLoop stage(builder_, number(builder_, 0), stages, one, "stage");
    CountedLoop way(builder_, number(builder_, 0), builder_.CreateAdd(stage.index(), one), one,
                    "distance");
    Value* distance = builder_.CreateShl(one, builder_.CreateSub(stage.index(), way.index()));
    CountedLoop pairs(builder_, code_.thread(), builder_.CreateLShr(size, 1),
                      number(builder_, function_threads), "pair");
    exchange(pairs.index(), distance, builder_.CreateShl(number(builder_, 2), stage.index()));
    pairs.close();
    call(builder_, Op::Barrier);
    way.close();
    stage.close();
  }

  /// The pair of entries with this number, so far apart; runs of `run` entries go up and down.
  void exchange(Value* pair, Value* distance, Value* run) {
    Value* within = builder_.CreateAnd(pair, builder_.CreateSub(distance, number(builder_, 1)));
    Value* low = builder_.CreateSub(builder_.CreateShl(pair, 1), within);
    Value* high = builder_.CreateAdd(low, distance);
    const Entry a = entry(low), b = entry(high);
    Value* goes_up = builder_.CreateICmpEQ(builder_.CreateAnd(low, run), number(builder_, 0));
    Conditional wrong(builder_, builder_.CreateICmpEQ(is_before(b, a), goes_up), "exchange");
    set(low, b);
    set(high, a);
    wrong.close();
  }

  Value *keys_ = nullptr, *indices_ = nullptr, *totals_ = nullptr;
  Value* wanted_ = nullptr;  ///< results of this way
};

}  // namespace

void emit_topk(llvm::Module& module, const std::string& symbol, const TopkProblem& problem,
               const TopkForm& form) {
  if (form.by_warp)
    simplify(WarpTopk(module, symbol, problem, form).emit());
  else
    simplify(BlockTopk(module, symbol, problem, form).emit());
}

}  // namespace dyn::ptx
