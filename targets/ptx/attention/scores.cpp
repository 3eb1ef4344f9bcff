#include "targets/ptx/attention/scores.hpp"

#include <limits>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using Values = std::vector<llvm::Value*>;

llvm::Value* clamped(codegen::Builder& builder, llvm::Value* value, llvm::Value* high) {
  return smaller(builder, larger(builder, value, builder.getInt64(0)), high);
}

}  // namespace

TicketRows ticket_rows(codegen::Builder& builder, bool causal, llvm::Value* first,
                       llvm::Value* existing, llvm::Value* rows, llvm::Value* keys) {
  if (!causal) return {first, rows, keys, keys, keys};
  llvm::Value* after_first = builder.CreateAdd(first, builder.CreateSub(keys, rows));
  return {first, rows, keys,
          clamped(builder, builder.CreateAdd(after_first, builder.getInt64(1)), keys),
          clamped(builder, builder.CreateAdd(after_first, existing), keys)};
}

void ScoreMask::enter(const TicketRows& rows, llvm::Value* base) {
  rows_ = rows;
  mask_rows_.clear();
  if (base == nullptr) return;
  const rkernel::Attention& attention = *problem_.attention;
  const rkernel::Operand& mask = problem_.operands[static_cast<std::size_t>(attention.mask)];
  const auto bytes = [&](int axis) -> llvm::Value* {
    const int stride = slots_.stride(attention.mask, axis);
    if (stride == codegen::SlotTable::none) return wide(0);
    return builder_.CreateMul(operands_.slot(stride),
                              wide(static_cast<std::int64_t>(size_of(mask.dtype))));
  };
  mask_step_ = bytes(attention.keys);
  llvm::Value *row_step = bytes(attention.m), *last = builder_.CreateSub(rows.rows, wide(1));
  for (int row = 0; row < products_.places().rows(); ++row) {
    llvm::Value* index = builder_.CreateAdd(
        rows.first, builder_.CreateZExt(products_.row(builder_, row), builder_.getInt64Ty()));
    mask_rows_.push_back(
        at_byte(builder_, base, builder_.CreateMul(smaller(builder_, index, last), row_step)));
  }
}

// Rows and keys that do not exist read what the last ones do: their scores are hidden, or nobody
// stores them.
llvm::Value* ScoreMask::masked(std::size_t score, llvm::Value* value, llvm::Value* first_key) {
  const int mask = problem_.attention->mask;
  const DType dtype = problem_.operands[static_cast<std::size_t>(mask)].dtype;
  llvm::Value* key = builder_.CreateAdd(
      first_key, builder_.CreateZExt(products_.key(builder_, score), builder_.getInt64Ty()));
  key = smaller(builder_, key, builder_.CreateSub(rows_.keys, wide(1)));
  llvm::Value* address = at_byte(
      builder_, mask_rows_[static_cast<std::size_t>(products_.places().row_of_score(score))],
      builder_.CreateMul(key, mask_step_));
  llvm::Value* stored = builder_.CreateAlignedLoad(
      codegen::memory_type(builder_.getContext(), dtype), address, llvm::Align(size_of(dtype)));
  return builder_.CreateFAdd(value, operands_.in_register(mask, stored));
}

Values ScoreMask::hidden(const Values& scores, llvm::Value* first_key) {
  const rkernel::Attention& attention = *problem_.attention;
  const int keys = products_.tile().block_keys();
  Values limits;  // keys of the tile that each row sees, i32
  for (int row = 0; row < products_.places().rows(); ++row) {
    llvm::Value* seen = rows_.keys;
    if (attention.causal) {
      llvm::Value* index = builder_.CreateZExt(products_.row(builder_, row), builder_.getInt64Ty());
      seen = builder_.CreateAdd(builder_.CreateAdd(rows_.first, index),
                                builder_.CreateSub(rows_.keys, rows_.rows));
      seen = smaller(builder_, builder_.CreateAdd(seen, wide(1)), rows_.keys);
    }
    limits.push_back(builder_.CreateTrunc(
        clamped(builder_, builder_.CreateSub(seen, first_key), wide(keys)), builder_.getInt32Ty()));
  }
  llvm::Value* nothing =
      llvm::ConstantFP::get(builder_.getFloatTy(), -std::numeric_limits<double>::infinity());
  Values changed;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    llvm::Value* limit = limits[static_cast<std::size_t>(products_.places().row_of_score(i))];
    changed.push_back(builder_.CreateSelect(
        builder_.CreateICmpSLT(products_.key(builder_, i), limit), scores[i], nothing));
  }
  return changed;
}

Values ScoreMask::apply(const Values& scores, llvm::Value* scale, llvm::Value* first_key) {
  Values scaled;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scaled.push_back(builder_.CreateFMul(scores[i], scale));
    if (!mask_rows_.empty()) scaled[i] = masked(i, scaled[i], first_key);
  }
  // Only at the diagonal, and at the end of the keys.
  llvm::Value* end = builder_.CreateAdd(first_key, wide(products_.tile().block_keys()));
  codegen::Conditional edge(builder_, builder_.CreateICmpSGT(end, rows_.seen_by_all), "hidden");
  const Values inside = hidden(scaled, first_key);
  return edge.close(inside, scaled);
}

}  // namespace dyn::ptx
