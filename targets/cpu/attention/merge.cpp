// The second stage of attention whose keys were split: partial results of a row to one, in the
// order of the keys.

#include <limits>

#include "targets/cpu/attention/function.hpp"

namespace dyn::cpu {
namespace {

using codegen::CountedLoop;

class AttentionMergeEmitter final : private AttentionFunction {
 public:
  using AttentionFunction::AttentionFunction;

  void emit() {
    splits_ = slot(strategy_.splits);
    acc_row_ = slot(strategy_.acc_row);
    CountedLoop tickets(builder_, function_->getArg(1),
                        builder_.CreateAdd(function_->getArg(1), function_->getArg(2)), number(1),
                        "ticket");
    llvm::Value* ticket = tickets.index();
    llvm::Value* m_blocks = slot(strategy_.m_blocks);
    const codegen::Part block = part(extent(attention_.m), m_blocks, take(ticket, m_blocks));
    locate_batch(ticket);
    CountedLoop rows(builder_, block.start, builder_.CreateAdd(block.start, block.size), number(1),
                     "row");
    merge_row(ticket, rows.index());
    rows.close();
    tickets.close();
    builder_.CreateRetVoid();
  }

 private:
  llvm::Value* maximum_of(llvm::Value* part) {
    return code_.load(code_.element(record(batch_, row_, part), acc_row_));
  }
  llvm::Value* sum_of(llvm::Value* part) {
    return code_.load(
        code_.element(record(batch_, row_, part), builder_.CreateAdd(acc_row_, number(1))));
  }

  void merge_row(llvm::Value* batch, llvm::Value* row) {
    batch_ = batch;
    row_ = row;
    llvm::Type* f32 = builder_.getFloatTy();
    llvm::Value* zero = llvm::ConstantFP::get(f32, 0);
    llvm::Value* maximum = llvm::ConstantFP::get(f32, -std::numeric_limits<double>::infinity());
    llvm::Value* none = maximum;
    CountedLoop largest(builder_, number(0), splits_, number(1), "largest", std::span(&maximum, 1));
    llvm::Value* larger = code_.larger(maximum_of(largest.index()), largest.carried(0));
    maximum = largest.close(std::span(&larger, 1))[0];
    maximum = builder_.CreateSelect(builder_.CreateFCmpOEQ(maximum, none), zero, maximum);
    // Weights of the parts stay in scratch, one each.
    CountedLoop weigh(builder_, number(0), splits_, number(1), "weigh", std::span(&zero, 1));
    llvm::Value* difference = builder_.CreateFSub(maximum_of(weigh.index()), maximum);
    llvm::Value* weight = builder_.CreateExtractElement(
        math_.exp_not_positive(code_.splat(difference)), std::uint64_t{0});
    code_.store(weight, code_.element(function_->getArg(3), weigh.index()));
    llvm::Value* total = code_.fused(weight, sum_of(weigh.index()), weigh.carried(0));
    total = weigh.close(std::span(&total, 1))[0];
    llvm::Value* empty = code_.splat(builder_.CreateFCmpOEQ(total, zero));
    llvm::Value* factor = code_.splat(builder_.CreateFDiv(llvm::ConstantFP::get(f32, 1), total));
    store_row(row, [&](llvm::Value* column, llvm::Value*) {
      llvm::Value* value = builder_.CreateFMul(sum_at(column), factor);
      return builder_.CreateSelect(empty, code_.splat(0.0), value);
    });
  }

  llvm::Value* sum_at(llvm::Value* column) {
    llvm::Value* none = code_.splat(0.0);
    CountedLoop parts(builder_, number(0), splits_, number(1), "part", std::span(&none, 1));
    llvm::Value* weight =
        code_.splat(code_.load(code_.element(function_->getArg(3), parts.index())));
    llvm::Value* partial =
        code_.load_vector(code_.element(record(batch_, row_, parts.index()), column));
    llvm::Value* sum = code_.fused(weight, partial, parts.carried(0));
    return parts.close(std::span(&sum, 1))[0];
  }

  llvm::Value *splits_ = nullptr, *acc_row_ = nullptr, *batch_ = nullptr, *row_ = nullptr;
};

}  // namespace

void emit_attention_merge(llvm::Module& module, const std::string& symbol,
                          const rkernel::RKernel& kernel, const codegen::Isa& isa,
                          const codegen::SlotTable& slots, const AttentionSlots& strategy,
                          const AttentionClass& shape_class) {
  AttentionMergeEmitter(module, symbol, kernel, isa, slots, strategy, shape_class).emit();
}

}  // namespace dyn::cpu
