#pragma once
// The work of a warp between the two products of attention: the step of the online softmax, and its
// end (FlashAttention-2, algorithm 1, lines 9, 10 and 12).

#include <vector>

#include "targets/llvm/math/math.hpp"
#include "targets/ptx/attention/products.hpp"
#include "targets/ptx/ir/device_math.hpp"

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
      : builder_(builder), math_(builder, device_math), products_(products) {}

  RowState begin() const;
  /// Brings the state up to date with one tile's scores (scaled, -inf where hidden), which become
  /// shares e^(score - maximum). A maximum of -inf (nothing seen yet) counts as 0, so that no -inf
  /// - -inf arises. NaN scores make the sum NaN. All lanes of a warp come here together.
  std::vector<llvm::Value*> step(const std::vector<llvm::Value*>& scores, RowState& state);
  /// Sums of whole rows, the same in all lanes of a row.
  void finish(RowState& state);
  /// e^(maximum - of) for a row, 0 for a row that has seen nothing.
  llvm::Value* weight(llvm::Value* maximum, llvm::Value* of);
  /// 1 / sum, 0 for 0: a row that sees nothing gives 0.
  llvm::Value* inverse(llvm::Value* sum);
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
  codegen::Math math_;
  const AttentionProducts& products_;
};

}  // namespace dyn::ptx
