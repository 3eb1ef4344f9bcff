#pragma once
// Scores between the first product and the softmax: scale, mask operand, and what is hidden.

#include <vector>

#include "targets/llvm/problem/operands.hpp"
#include "targets/ptx/attention/products.hpp"
#include "targets/ptx/attention/query_rows.hpp"

namespace dyn::ptx {

/// The rows of one ticket, and the keys that they see. i64 but where it says i32.
struct TicketRows {
  llvm::Value* existing = nullptr;  ///< rows of the tile, i32
  llvm::Value *queries = nullptr,
              *keys = nullptr;  ///< extents of m and keys
  /// Keys that every row sees, and that any row sees.
  llvm::Value *seen_by_all = nullptr, *seen_by_any = nullptr;
};
/// Query m sees keys <= m + keys - queries where `causal`.
TicketRows ticket_rows(codegen::Builder& builder, bool causal, const QueryRows& rows,
                       llvm::Value* existing, llvm::Value* queries, llvm::Value* keys);

class ScoreMask {
 public:
  ScoreMask(codegen::Builder& builder, const rkernel::Problem& problem,
            const codegen::SlotTable& slots, codegen::Operands& operands,
            const AttentionProducts& products, const QueryRows& index)
      : builder_(builder),
        problem_(problem),
        slots_(slots),
        operands_(operands),
        products_(products),
        index_(index) {}

  /// Begins a ticket: finds where the mask's rows of this thread lie. `base`: the mask's address of
  /// query 0 of head 0 and key 0 in this element of the batch; nullptr: there is no mask operand.
  void enter(const TicketRows& rows, llvm::Value* base);
  /// scores * scale + mask, -inf where a row does not see the key. `first_key`: of the tile, i64.
  std::vector<llvm::Value*> apply(const std::vector<llvm::Value*>& scores, llvm::Value* scale,
                                  llvm::Value* first_key);

 private:
  llvm::Value* masked(std::size_t score, llvm::Value* value, llvm::Value* first_key);
  std::vector<llvm::Value*> hidden(const std::vector<llvm::Value*>& scores, llvm::Value* first_key);
  llvm::Value* wide(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }

  codegen::Builder& builder_;
  const rkernel::Problem& problem_;
  const codegen::SlotTable& slots_;
  codegen::Operands& operands_;
  const AttentionProducts& products_;
  const QueryRows& index_;
  TicketRows rows_;
  std::vector<llvm::Value*> mask_rows_;  ///< addresses, of each row of the thread
  llvm::Value* mask_step_ = nullptr;     ///< bytes from key to key, i64
};

}  // namespace dyn::ptx
