#pragma once
// Scores of classes and targets: what becomes of them, and which class has the best.

#include <cstdint>
#include <string>
#include <vector>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

enum class PostTransform : std::uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };

/// The attribute post_transform, a word or a number.
PostTransform post_transform_of(NodeContext& node);

/// Of scores [B, K]: each row for itself.
TensorExpr transformed(const TensorExpr& scores, PostTransform transform);

/// Column `column` of x [B, K] as [B, 1].
TensorExpr column(const TensorExpr& x, std::int64_t column);

/// The scores [B, 2] of two classes, from one number [B, 1] of the second: 1 - score and score, or
/// -score and score where scores are `signed_`; LOGISTIC makes probabilities of either. The first
/// column of PROBIT is of the score, and the second 0.
TensorExpr scores_of_both(const TensorExpr& score, bool is_signed, PostTransform transform);

/// The first place of the greatest element of each row [B, K], as [B].
TensorExpr best_of(const TensorExpr& scores);

/// The labels of classes: numbers, or texts, whose places stand for them.
class ClassLabels {
 public:
  /// `numbers` is the name of the attribute of numbers; that of texts is classlabels_strings. Fails
  /// where the node has neither.
  ClassLabels(NodeContext& node, const std::string& numbers);

  std::int64_t count() const { return count_; }
  bool are_texts() const { return !texts_.empty(); }
  /// Gives the labels of these classes [B] as the node's first output.
  void give(const TensorExpr& classes) const;
  /// Where `is_second` [B] or [B, 1] of rows, the second of two labels, else the first.
  void give_second_where(const TensorExpr& is_second) const;
  /// 1 and 0 are labels themselves, or places of texts.
  void give_one_where(const TensorExpr& is_one) const;

 private:
  void give_label(const TensorExpr& label) const;

  NodeContext& node_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::string> texts_;
  std::int64_t count_ = 0;
};

}  // namespace dyn::onnx
