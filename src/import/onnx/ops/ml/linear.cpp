// LinearClassifier, LinearRegressor, SVMClassifier, SVMRegressor: products of rows with weights, in
// f32 as their results.

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/ops/ml/scores.hpp"
#include "src/import/onnx/ops/ml/trees.hpp"

namespace dyn::onnx {
namespace {

TensorExpr f32_rows(NodeContext& node) { return cast(rows_of_input(node), DType::f32); }

void require_rows(NodeContext& node, std::int64_t count, std::int64_t rows, const char* what) {
  if (rows < 1 || count == 0 || count % rows != 0)
    node.fail(
        fmt::format("{} has {} elements, which are no {} rows of some length", what, count, rows));
}

/// The list as rows of a matrix.
TensorExpr matrix_of(NodeContext& node, const std::vector<double>& list, std::int64_t rows,
                     const char* what) {
  const auto count = static_cast<std::int64_t>(list.size());
  require_rows(node, count, rows, what);
  return numbers(node, DType::f32, {rows, count / rows}, list);
}

/// The matrix with its rows as columns.
TensorExpr columns_of(NodeContext& node, const std::vector<double>& list, std::int64_t rows,
                      const char* what) {
  const auto count = static_cast<std::int64_t>(list.size());
  require_rows(node, count, rows, what);
  std::vector<double> turned;
  for (std::int64_t k = 0; k < count / rows; ++k)
    for (std::int64_t row = 0; row < rows; ++row)
      turned.push_back(list[static_cast<std::size_t>(row * (count / rows) + k)]);
  return numbers(node, DType::f32, {count / rows, rows}, turned);
}

/// x . w' for w [n, k]: [B, n].
TensorExpr product_with(const TensorExpr& x, const TensorExpr& w) {
  return apply("matmul", {x, w}, {{"transpose_b", true}});
}

TensorExpr with_summands(const TensorExpr& x, const std::vector<double>& summands) {
  return x + numbers(x.node(), DType::f32, {static_cast<std::int64_t>(summands.size())}, summands);
}

/// One score alone knows one transform, as in ONNX Runtime.
TensorExpr transformed_if_many(const TensorExpr& scores, std::int64_t count,
                               PostTransform transform) {
  return count > 1 || transform == PostTransform::Probit ? transformed(scores, transform) : scores;
}

void convert_linear_regressor(NodeContext& node) {
  const std::int64_t targets = node.integer("targets", 1);
  const std::vector<double> intercepts = node.numbers("intercepts");
  TensorExpr scores = product_with(
      f32_rows(node), matrix_of(node, node.numbers("coefficients"), targets, "coefficients"));
  if (!intercepts.empty()) {
    if (static_cast<std::int64_t>(intercepts.size()) != targets)
      node.fail(fmt::format("intercepts has {} elements, but there are {} targets",
                            intercepts.size(), targets));
    scores = with_summands(scores, intercepts);
  }
  node.give(transformed_if_many(scores, targets, post_transform_of(node)).id());
}

void convert_linear_classifier(NodeContext& node) {
  const ClassLabels labels(node, "classlabels_ints");
  std::vector<double> intercepts = node.numbers("intercepts");
  if (intercepts.empty()) intercepts.resize(static_cast<std::size_t>(labels.count()), 0);
  const auto count = static_cast<std::int64_t>(intercepts.size());
  if (count != labels.count() && (count != 1 || labels.count() != 2))
    node.fail(fmt::format("intercepts has {} elements, but there are {} class labels", count,
                          labels.count()));
  const PostTransform transform = post_transform_of(node);
  const TensorExpr scores = with_summands(
      product_with(f32_rows(node),
                   matrix_of(node, node.numbers("coefficients"), count, "coefficients")),
      intercepts);
  const TensorExpr is_positive = less(scores.scalar(0), scores);
  if (count > 1)
    labels.give(best_of(scores));
  else if (labels.count() == 2)
    labels.give_second_where(is_positive);
  else
    labels.give_one_where(is_positive);
  node.give((count == 1 && labels.count() == 2 ? scores_of_both(scores, false, transform)
                                               : transformed_if_many(scores, count, transform))
                .id(),
            1);
}

/// The kernel of a support vector machine.
class Kernel {
 public:
  explicit Kernel(NodeContext& node)
      : type_(node.word("kernel_type", "LINEAR")), params_(node.numbers("kernel_params")) {
    if (type_ != "LINEAR" && type_ != "POLY" && type_ != "RBF" && type_ != "SIGMOID")
      node.fail(fmt::format("kernel_type {} is unknown", type_));
    if (params_.empty()) params_ = {0, 0, 0};
    if (params_.size() != 3)
      node.fail(fmt::format("kernel_params has {} elements, not gamma, coef0 and degree",
                            params_.size()));
  }

  /// Of each row of x [B, F] and each of the node's support vectors: [B, V]. Squares of differences
  /// are added up feature after feature, vectors side by side.
  TensorExpr apply_to(const TensorExpr& x, std::int64_t count) const {
    constexpr const char* name = "support_vectors";
    const double gamma = params_[0], coef0 = params_[1], degree = params_[2];
    const std::vector<double> vectors = x.node().numbers(name);
    if (type_ == "RBF") {
      const TensorExpr difference = unsqueeze(x, 2) - columns_of(x.node(), vectors, count, name);
      return exp(reduce("reduce_sum", difference * difference, {1}, false) * -gamma);
    }
    const TensorExpr product = product_with(x, matrix_of(x.node(), vectors, count, name));
    if (type_ == "LINEAR") return product;
    const TensorExpr linear = product * gamma + coef0;
    if (type_ == "SIGMOID") return apply("tanh", {linear});
    if (degree == 2) return linear * linear;
    return degree == 3 ? linear * linear * linear : pow(linear, degree);
  }

 private:
  std::string type_;
  std::vector<double> params_;
};

std::vector<double> need_numbers(NodeContext& node, const char* name, std::size_t least) {
  std::vector<double> list = node.numbers(name);
  if (list.size() < least)
    node.fail(fmt::format("{} has {} elements; it needs {}", name, list.size(), least));
  return list;
}

void convert_svm_regressor(NodeContext& node) {
  const std::int64_t vectors = node.integer("n_supports", 0);
  const std::vector<double> coefficients = need_numbers(node, "coefficients", 1),
                            rho = need_numbers(node, "rho", 1);
  TensorExpr x = f32_rows(node);
  if (vectors > 0) x = Kernel(node).apply_to(x, vectors);
  const TensorExpr score =
      product_with(x, matrix_of(node, coefficients, 1, "coefficients")) + rho[0];
  if (node.integer("one_class", 0) == 0) return node.give(score.id());
  node.give(where(less(score.scalar(0), score), score.scalar(1), -1.0).id());
}

/// Each pair of classes i < j has a score, which speaks for i where it is positive.
class PairedClassifier {
 public:
  PairedClassifier(NodeContext& node, const ClassLabels& labels, const Integers& vectors)
      : node_(node),
        labels_(labels),
        classes_(labels.count()),
        pairs_(classes_ * (classes_ - 1) / 2),
        vectors_(std::accumulate(vectors.begin(), vectors.end(), std::int64_t{0})),
        starts_(vectors.size() + 1, 0),
        transform_(post_transform_of(node)) {
    std::partial_sum(vectors.begin(), vectors.end(), starts_.begin() + 1);
    if (classes_ < 2 || static_cast<std::int64_t>(vectors.size()) != classes_)
      node.fail(fmt::format("vectors_per_class has {} elements, but there are {} class labels",
                            vectors.size(), classes_));
    constexpr std::int64_t most_classes = 64;  // pairs share no weights, so that there are many
    if (classes_ > most_classes)
      node.fail_unsupported(
          fmt::format("it has {} classes; up to {} are supported", classes_, most_classes));
    const auto given = static_cast<std::int64_t>(node.numbers("support_vectors").size());
    if (vectors_ > given)
      node.fail(
          fmt::format("vectors_per_class counts {} vectors, but support_vectors has {} "
                      "elements",
                      vectors_, given));
  }

  void convert() const {
    const TensorExpr kernels = Kernel(node_).apply_to(f32_rows(node_), vectors_);
    std::vector<double> rho = need_numbers(node_, "rho", static_cast<std::size_t>(pairs_));
    rho.resize(static_cast<std::size_t>(pairs_));
    const TensorExpr scores = with_summands(product_with(kernels, pair_weights()), rho);
    labels_.give(best_of(votes(scores)));
    if (node_.numbers("prob_a").empty())
      give_scores(scores);
    else
      node_.give(transformed(probabilities(scores), transform_).id(), 1);
  }

 private:
  template <class Visit>
  void for_each_pair(const Visit& visit) const {
    std::int64_t pair = 0;
    for (std::int64_t i = 0; i < classes_; ++i)
      for (std::int64_t j = i + 1; j < classes_; ++j) visit(i, j, pair++);
  }

  /// [pairs, vectors]. coefficients has a row for each other class of a vector, in order.
  TensorExpr pair_weights() const {
    const std::vector<double> coefficients =
        need_numbers(node_, "coefficients", static_cast<std::size_t>((classes_ - 1) * vectors_));
    std::vector<double> weights(static_cast<std::size_t>(pairs_ * vectors_), 0);
    for_each_pair([&](std::int64_t i, std::int64_t j, std::int64_t pair) {
      const auto take = [&](std::int64_t of, std::int64_t row) {
        for (std::int64_t v = starts_[static_cast<std::size_t>(of)];
             v < starts_[static_cast<std::size_t>(of) + 1]; ++v)
          weights[static_cast<std::size_t>(pair * vectors_ + v)] =
              coefficients[static_cast<std::size_t>(row * vectors_ + v)];
      };
      take(i, j - 1);
      take(j, i);
    });
    return numbers(node_, DType::f32, {pairs_, vectors_}, weights);
  }

  /// How many pairs speak for each class: [B, classes].
  TensorExpr votes(const TensorExpr& scores) const {
    std::vector<double> of_winner(static_cast<std::size_t>(classes_ * pairs_), 0),
        of_second(static_cast<std::size_t>(classes_), 0);
    for_each_pair([&](std::int64_t i, std::int64_t j, std::int64_t pair) {
      of_winner[static_cast<std::size_t>(i * pairs_ + pair)] = 1;
      of_winner[static_cast<std::size_t>(j * pairs_ + pair)] = -1;
      of_second[static_cast<std::size_t>(j)] += 1;
    });
    const TensorExpr first_wins = cast(less(scores.scalar(0), scores), DType::f32);
    return with_summands(
        product_with(first_wins, numbers(node_, DType::f32, {classes_, pairs_}, of_winner)),
        of_second);
  }

  void give_scores(const TensorExpr& scores) const {
    const bool is_signed = transform_ == PostTransform::None;
    node_.give((classes_ == 2 ? scores_of_both(scores, is_signed, transform_)
                              : transformed(scores, transform_))
                   .id(),
               1);
  }

  /// Each pair's probability for its first class, coupled to those of the classes.
  TensorExpr probabilities(const TensorExpr& scores) const {
    const auto pairs = static_cast<std::size_t>(pairs_);
    std::vector<double> a = need_numbers(node_, "prob_a", pairs),
                        b = need_numbers(node_, "prob_b", pairs);
    a.resize(pairs);
    b.resize(pairs);
    constexpr double least = 1e-7;
    const TensorExpr given =
        apply("sigmoid", {-with_summands(scores * numbers(node_, DType::f32, {pairs_}, a), b)});
    const TensorExpr first = minimum(maximum(given, least), 1 - least);
    return apply("couple", {first}, {node_.dim("classes", classes_)});
  }

  NodeContext& node_;
  const ClassLabels& labels_;
  const std::int64_t classes_, pairs_, vectors_;
  Integers starts_;  ///< of the vectors of each class
  const PostTransform transform_;
};

/// Without support vectors each class has a row of coefficients.
void convert_linear_svm(NodeContext& node, const ClassLabels& labels) {
  const std::vector<double> coefficients = need_numbers(node, "coefficients", 1),
                            rho = need_numbers(node, "rho", 1);
  const TensorExpr scores =
      product_with(f32_rows(node), matrix_of(node, coefficients, labels.count(), "coefficients")) +
      rho[0];
  const TensorExpr best = best_of(scores);
  if (labels.count() == 2) {
    const bool are_positive =
        std::ranges::none_of(coefficients, [](double each) { return each < 0; });
    const TensorExpr greatest = reduce("reduce_max", scores, {1}, false);
    const TensorExpr is_enough = are_positive ? less_equal(greatest.scalar(0.5), greatest)
                                              : less(greatest.scalar(0), greatest);
    labels.give_second_where(either(is_enough, equal(best, 1.0)));
  } else {
    labels.give(best);
  }
  node.give(transformed_if_many(scores, labels.count(), post_transform_of(node)).id(), 1);
}

void convert_svm_classifier(NodeContext& node) {
  const ClassLabels labels(node, "classlabels_ints");
  const Integers vectors = node.integers("vectors_per_class").value_or(Integers());
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (std::ranges::any_of(vectors, [](std::int64_t each) { return each < 0 || each > most; }))
    node.fail("vectors_per_class must be counts");
  const bool has_vectors = std::ranges::any_of(vectors, [](std::int64_t each) { return each > 0; });
  if (has_vectors)
    PairedClassifier(node, labels, vectors).convert();
  else
    convert_linear_svm(node, labels);
}

}  // namespace

Family linear_operators() {
  return {{"LinearRegressor", convert_linear_regressor},
          {"LinearClassifier", convert_linear_classifier},
          {"SVMRegressor", convert_svm_regressor},
          {"SVMClassifier", convert_svm_classifier}};
}

}  // namespace dyn::onnx
