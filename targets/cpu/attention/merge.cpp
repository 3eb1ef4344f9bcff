// The second stage of attention whose keys were split: partial results of a row to one, in the
// order of the keys.

#include <limits>

#include "targets/cpu/attention/function.hpp"

namespace dyn::cpu {
namespace {

using codegen::CountedLoop;
using llvm::Value;

/// Merges the partial results of one row.
class RowMerge {
 public:
  /// `splits`: the number of parts; `acc_row`: floats of an accumulator.
  RowMerge(AttentionFunction& function, Value* splits, Value* acc_row, Value* batch, Value* row)
      : function_(function),
        builder_(function.builder),
        code_(function.code),
        splits_(splits),
        acc_row_(acc_row),
        batch_(batch),
        row_(row) {}

  void emit() const;

 private:
  Value* record(Value* part) const { return function_.record(batch_, row_, part); }
  Value* maximum_of(Value* part) const { return code_.load(code_.element(record(part), acc_row_)); }
  Value* sum_of(Value* part) const;
  /// The largest maximum of all parts; 0 where no part sees a key.
  Value* largest_maximum() const;
  /// Leaves each part's weight in scratch; returns the sum of all parts.
  Value* weigh(Value* maximum) const;
  /// The vector of the accumulator at a column.
  Value* accumulator_at(Value* column) const;
  llvm::ConstantInt* number(std::int64_t value) const { return code_.number(value); }
  Value* weight_at(Value* part) const { return code_.element(function_.scratch, part); }

  AttentionFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  Value *splits_, *acc_row_, *batch_, *row_;
};

Value* RowMerge::sum_of(Value* part) const {
  return code_.load(code_.element(record(part), builder_.CreateAdd(acc_row_, number(1))));
}

Value* RowMerge::largest_maximum() const {
  llvm::Type* f32 = builder_.getFloatTy();
  Value* none = llvm::ConstantFP::get(f32, -std::numeric_limits<double>::infinity());
  CountedLoop largest(builder_, number(0), splits_, number(1), "largest", std::span(&none, 1));
  Value* larger = code_.larger(maximum_of(largest.index()), largest.carried(0));
  Value* maximum = largest.close(std::span(&larger, 1))[0];
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(maximum, none), llvm::ConstantFP::get(f32, 0),
                               maximum);
}

Value* RowMerge::weigh(Value* maximum) const {
  Value* zero = llvm::ConstantFP::get(builder_.getFloatTy(), 0);
  CountedLoop weigh(builder_, number(0), splits_, number(1), "weigh", std::span(&zero, 1));
  Value* difference = builder_.CreateFSub(maximum_of(weigh.index()), maximum);
  Value* weight = builder_.CreateExtractElement(
      function_.math.exp_not_positive(code_.splat(difference)), std::uint64_t{0});
  code_.store(weight, weight_at(weigh.index()));
  Value* total = code_.fused(weight, sum_of(weigh.index()), weigh.carried(0));
  return weigh.close(std::span(&total, 1))[0];
}

void RowMerge::emit() const {
  llvm::Type* f32 = builder_.getFloatTy();
  Value* total = weigh(largest_maximum());
  Value* empty = code_.splat(builder_.CreateFCmpOEQ(total, llvm::ConstantFP::get(f32, 0)));
  Value* factor = code_.splat(builder_.CreateFDiv(llvm::ConstantFP::get(f32, 1), total));
  function_.store_row(row_, [&](Value* column, Value*) {
    Value* value = builder_.CreateFMul(accumulator_at(column), factor);
    return builder_.CreateSelect(empty, code_.splat(0.0), value);
  });
}

Value* RowMerge::accumulator_at(Value* column) const {
  Value* none = code_.splat(0.0);
  CountedLoop parts(builder_, number(0), splits_, number(1), "part", std::span(&none, 1));
  Value* weight = code_.splat(code_.load(weight_at(parts.index())));
  Value* partial = code_.load_vector(code_.element(record(parts.index()), column));
  Value* sum = code_.fused(weight, partial, parts.carried(0));
  return parts.close(std::span(&sum, 1))[0];
}

}  // namespace

void emit_attention_merge(llvm::Module& module, const std::string& symbol,
                          const rkernel::RKernel& kernel, const codegen::Isa& isa,
                          const codegen::SlotTable& slots, const AttentionSlots& strategy,
                          const AttentionClass& shape_class) {
  AttentionFunction function(module, symbol, kernel, isa, slots, strategy, shape_class);
  codegen::Builder& builder = function.builder;
  const rkernel::Attention& attention = function.attention;
  Value* splits = function.slot(strategy.splits);
  Value* acc_row = function.slot(strategy.acc_row);
  Value* first = function.function->getArg(1);
  CountedLoop tickets(builder, first, builder.CreateAdd(first, function.function->getArg(2)),
                      function.number(1), "ticket");
  Value* m_blocks = function.slot(strategy.m_blocks);
  const AttentionFunction::Digit digit = function.take(tickets.index(), m_blocks);
  const codegen::Part block = function.part(function.extent(attention.m), m_blocks, digit.index);
  const AttentionBatch batch = function.locate_batch(digit.left);
  CountedLoop rows(builder, block.start, builder.CreateAdd(block.start, block.size),
                   function.number(1), "row");
  RowMerge(function, splits, acc_row, batch.index, rows.index()).emit();
  rows.close();
  tickets.close();
  builder.CreateRetVoid();
}

}  // namespace dyn::cpu
