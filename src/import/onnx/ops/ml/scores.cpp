#include "src/import/onnx/ops/ml/scores.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numbers>

#include <fmt/format.h>

#include "src/import/onnx/texts/text_lookup.hpp"

namespace dyn::onnx {
namespace {

constexpr std::array<std::string_view, 5> transform_names{"NONE", "SOFTMAX", "LOGISTIC",
                                                          "SOFTMAX_ZERO", "PROBIT"};

TensorExpr sigmoid(const TensorExpr& x) { return apply("sigmoid", {x}); }

/// Scores of 0 stay 0, next to nothing counting as 0.
TensorExpr softmax_zero(const TensorExpr& x) {
  constexpr double nothing = 1e-7;
  const TensorExpr greatest = reduce("reduce_max", x, {1}, true);
  const TensorExpr is_score = less(x.scalar(nothing), abs(x));
  const TensorExpr share = where(is_score, exp(x - greatest), 0.0),
                   rest = where(is_score, 0.0, x * exp(-greatest));
  return (share + rest) / reduce("reduce_sum", share, {1}, true);
}

/// The inverse of the normal distribution, by ONNX Runtime's approximation of the inverse of erf.
TensorExpr probit(const TensorExpr& score) {
  constexpr double a = 0.147;
  const TensorExpr x = score * 2.0 - 1.0;
  const TensorExpr logarithm = log((1.0 - x) * (1.0 + x));
  const TensorExpr v = logarithm * 0.5 + 2 / (std::numbers::pi * a);
  const TensorExpr root = sqrt(sqrt(v * v - logarithm * (1 / a)) - v);
  return where(less(x, 0.0), -root, root) * std::numbers::sqrt2;
}

}  // namespace

PostTransform post_transform_of(NodeContext& node) {
  constexpr const char* name = "post_transform";
  const AttributeProto* given = node.attribute(name);
  std::int64_t place = 0;
  if (given != nullptr && given->has_i()) {
    place = given->i();
  } else {
    const auto found = std::ranges::find(transform_names, node.word(name, "NONE"));
    place = found - transform_names.begin();
  }
  if (place < 0 || place >= std::ssize(transform_names))
    node.fail("its post_transform is none of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT");
  return static_cast<PostTransform>(place);
}

TensorExpr transformed(const TensorExpr& scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::None: break;
    case PostTransform::Softmax: return apply("softmax", {scores}, {scores.node().dim("axis", 1)});
    case PostTransform::Logistic: return sigmoid(scores);
    case PostTransform::SoftmaxZero: return softmax_zero(scores);
    case PostTransform::Probit: return probit(scores);
  }
  return scores;
}

TensorExpr column(const TensorExpr& x, std::int64_t column) {
  graph::DimTable& dims = x.node().dims();
  return slice(x, 1, dims.constant(column), dims.constant(column + 1));
}

TensorExpr scores_of_both(const TensorExpr& score, bool is_signed, PostTransform transform) {
  if (transform == PostTransform::Logistic) return concat({sigmoid(-score), sigmoid(score)}, 1);
  if (transform == PostTransform::Probit) return concat({probit(score), score * 0.0}, 1);
  return concat({is_signed ? -score : 1.0 - score, score}, 1);
}

TensorExpr best_of(const TensorExpr& scores) {
  NodeContext& node = scores.node();
  const Dim classes = scores.dims()[1];
  const TensorExpr is_best = equal(scores, reduce("reduce_max", scores, {1}, true));
  const TensorExpr place = along(range(node, classes), 1, 2), last = size(node, classes - 1);
  return reduce("reduce_min", where(is_best, place, last), {1}, false);
}

ClassLabels::ClassLabels(NodeContext& node, const std::string& numbers)
    : node_(node),
      numbers_(node.integers(numbers).value_or(Integers())),
      texts_(node.words("classlabels_strings")),
      count_(static_cast<std::int64_t>(texts_.empty() ? numbers_.size() : texts_.size())) {
  if (count_ == 0)
    node.fail(fmt::format("it needs {} or classlabels_strings, which name the classes", numbers));
}

void ClassLabels::give(const TensorExpr& classes) const {
  give_label(are_texts() ? classes : gather(integers(node_, {count_}, numbers_), classes, 0));
}

void ClassLabels::give_second_where(const TensorExpr& is_second) const {
  if (count_ != 2) node_.fail(fmt::format("it needs two class labels, not {}", count_));
  const TensorExpr second{node_,
                          node_.builder().integer(DType::i64, are_texts() ? 1 : numbers_[1])},
      first{node_, node_.builder().integer(DType::i64, are_texts() ? 0 : numbers_[0])};
  give_label(where(is_second, second, first));
}

void ClassLabels::give_one_where(const TensorExpr& is_one) const {
  give_label(cast(is_one, DType::i64));
}

void ClassLabels::give_label(const TensorExpr& label) const {
  const TensorExpr list = label.rank() == 1 ? label : reshape(label, {label.dims()[0]});
  if (are_texts())
    give_texts(list, texts_);
  else
    node_.give(list.id());
}

}  // namespace dyn::onnx
