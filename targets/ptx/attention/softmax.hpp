#pragma once
// The work of a warp between the two products of attention: the step of the online softmax, and its
// end (FlashAttention-2, algorithm 1, lines 9, 10 and 12).

#include <vector>

#include "targets/ptx/attention/products.hpp"

namespace dyn::ptx {

/// Carried by a thread from one tile of keys to the next, f32: for each of its rows the maximum of
/// all scores so far, the same in all lanes of a row, and the sum of its own shares; and
/// accumulators.
struct RowState {
  std::vector<llvm::Value*> maxima, sums, accumulators;
};

class OnlineSoftmax {
 public:
  OnlineSoftmax(codegen::Builder& builder, const AttentionProducts& products)
      : builder_(builder), products_(products) {}

  RowState begin() const;
  /// Brings the state up to date with one tile's scores (scaled, -inf where hidden), which become
  /// shares e^(score - maximum), as 2^((score - maximum) log2(e)) by the GPU's approximation: a
  /// share is off by 2^-22, and 2^-23 of its power, of itself. A maximum of -inf (nothing seen yet)
  /// counts as 0, so that no -inf - -inf arises. NaN scores make the row NaN. All lanes of a warp
  /// come here together.
  std::vector<llvm::Value*> step(const std::vector<llvm::Value*>& scores, RowState& state);
  /// Sums of whole rows, the same in all lanes of a row.
  void finish(RowState& state);
  /// e^(score - maximum), of a score or of an earlier maximum; 0 where nothing was seen.
  llvm::Value* weight(llvm::Value* score, llvm::Value* maximum);
  /// 1 / sum, 0 for 0: a row that sees nothing gives 0.
  llvm::Value* inverse(llvm::Value* sum);
  /// NaN where one is.
  llvm::Value* larger(llvm::Value* a, llvm::Value* b);
  /// accumulators * factor of their row.
  void scale(std::vector<llvm::Value*>& accumulators, const std::vector<llvm::Value*>& factors);

 private:
  /// The value of the lane whose index differs in this bit.
  llvm::Value* across(llvm::Value* value, int distance);
  llvm::Value* number(double value) const {
    return llvm::ConstantFP::get(builder_.getFloatTy(), value);
  }

  codegen::Builder& builder_;
  const AttentionProducts& products_;
};

}  // namespace dyn::ptx
