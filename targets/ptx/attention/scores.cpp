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

TicketRows ticket_rows(codegen::Builder& builder, bool causal, const QueryRows& rows,
                       llvm::Value* existing, llvm::Value* queries, llvm::Value* keys) {
  if (!causal) return {existing, queries, keys, keys, keys};
  const auto seen_by = [&](llvm::Value* row) {
    llvm::Value* after = builder.CreateAdd(rows.at(row).query, builder.CreateSub(keys, queries));
    return clamped(builder, builder.CreateAdd(after, builder.getInt64(1)), keys);
  };
  llvm::Value* last = builder.CreateSub(existing, number(builder, 1));
  return {existing, queries, keys, seen_by(number(builder, 0)), seen_by(last)};
}

void ScoreMask::enter(const TicketRows& rows, llvm::Value* base) {
  rows_ = rows;
  mask_rows_.clear();
  if (base == nullptr) return;
  const rkernel::Attention& attention = *problem_.attention;
  const rkernel::Operand& mask = problem_.operands[static_cast<std::size_t>(attention.mask)];
  llvm::Value* size = wide(static_cast<std::int64_t>(size_of(mask.dtype)));
  const int key_stride = slots_.stride(attention.mask, attention.keys);
  mask_step_ = key_stride == codegen::SlotTable::none
                   ? wide(0)
                   : builder_.CreateMul(operands_.slot(key_stride), size);
  llvm::Value* last = builder_.CreateSub(rows.existing, number(builder_, 1));
  for (int row = 0; row < products_.places().rows(); ++row) {
    llvm::Value* distance = index_.distance(
        attention.mask, index_.at(smaller(builder_, products_.row(builder_, row), last)));
    mask_rows_.push_back(at_byte(builder_, base, builder_.CreateMul(distance, size)));
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
      seen = builder_.CreateAdd(index_.at(products_.row(builder_, row)).query,
                                builder_.CreateSub(rows_.keys, rows_.queries));
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
