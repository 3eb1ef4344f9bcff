// Imported linear models and support vector machines, beside plain loops in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/ops/ml/ml_file.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::ml_linear {
namespace {

constexpr std::int64_t rows = 5, columns = 3;

Values drawn(std::size_t count) {
  const std::vector<float> floats = random_floats(count, -1, 1.5F);
  return {floats.begin(), floats.end()};
}

double product(const Values& x, std::int64_t row, const Values& w, std::int64_t of) {
  double sum = 0;
  for (std::int64_t k = 0; k < columns; ++k)
    sum += x[static_cast<std::size_t>(row * columns + k)] *
           w[static_cast<std::size_t>(of * columns + k)];
  return sum;
}

std::vector<Result> run_on(const MlFile& ml, const Values& x) {
  const std::vector<float> data(x.begin(), x.end());
  return run_all(ml.file, {{"x", Tensor::view(data, {rows, columns})}});
}

double place_of_greatest(const double* list, std::int64_t count) {
  return static_cast<double>(std::max_element(list, list + count) - list);
}

/// Pair scores of a machine with one, two and three vectors for its classes.
struct Machine {
  static constexpr std::int64_t classes = 3, vectors = 6;
  const std::vector<std::int64_t> counts{1, 2, 3};
  Values support = drawn(vectors * columns), coefficients = drawn(2 * vectors), rho = drawn(3),
         params{0.3, 0.2, 3};

  double kernel(const std::string& type, const Values& x, std::int64_t row, std::int64_t v) const {
    if (type == "RBF") {
      double sum = 0;
      for (std::int64_t k = 0; k < columns; ++k)
        sum += std::pow(x[static_cast<std::size_t>(row * columns + k)] -
                            support[static_cast<std::size_t>(v * columns + k)],
                        2);
      return std::exp(-params[0] * sum);
    }
    const double linear = product(x, row, support, v), affine = params[0] * linear + params[1];
    return type == "LINEAR"    ? linear
           : type == "SIGMOID" ? std::tanh(affine)
                               : std::pow(affine, params[2]);
  }

  Values scores(const std::string& type, const Values& x, std::int64_t row) const {
    const std::int64_t class_of[] = {0, 1, 1, 2, 2, 2};
    Values result;
    for (std::int64_t i = 0; i < classes; ++i) {
      for (std::int64_t j = i + 1; j < classes; ++j) {
        double sum = rho[result.size()];
        for (std::int64_t v = 0; v < vectors; ++v) {
          const std::int64_t own = class_of[v], row_of = own == i ? j - 1 : i;
          if (own == i || own == j)
            sum += coefficients[static_cast<std::size_t>(row_of * vectors + v)] *
                   kernel(type, x, row, v);
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  void describe(onnx::NodeProto& node, const std::string& type) const {
    set_list(node, "vectors_per_class", counts);
    set_floats(node, "support_vectors", support);
    set_floats(node, "coefficients", coefficients);
    set_floats(node, "rho", rho);
    set_floats(node, "kernel_params", params);
    set_word(node, "kernel_type", type);
    set_list(node, "classlabels_ints", {4, 8, 6});
  }
};

double vote_of(const Values& scores) {
  double votes[3] = {0, 0, 0};
  votes[scores[0] > 0 ? 0 : 1] += 1;
  votes[scores[1] > 0 ? 0 : 2] += 1;
  votes[scores[2] > 0 ? 1 : 2] += 1;
  return place_of_greatest(votes, 3);
}

}  // namespace

TEST_CASE("imported linear models score and choose classes") {
  const Values x = drawn(rows * columns), w = drawn(3 * columns), b = drawn(3);
  MlFile regressor("LinearRegressor", {"N", columns}, {"y"});
  set_floats(set_floats(regressor.node(), "coefficients", w), "intercepts", b);
  set(regressor.node(), "targets", 3);
  MlFile classifier("LinearClassifier", {"N", columns}, {"label", "scores"});
  set_floats(set_floats(classifier.node(), "coefficients", w), "intercepts", b);
  set_list(classifier.node(), "classlabels_ints", {4, 8, 6});
  set_word(classifier.node(), "post_transform", "SOFTMAX");
  Values scores, shares, labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::int64_t k = 0; k < 3; ++k) {
      scores.push_back(product(x, row, w, k) + b[static_cast<std::size_t>(k)]);
      sum += std::exp(scores.back());
    }
    for (std::size_t k = scores.size() - 3; k < scores.size(); ++k)
      shares.push_back(std::exp(scores[k]) / sum);
    labels.push_back(
        Values{4, 8, 6}[static_cast<std::size_t>(place_of_greatest(scores.data() + row * 3, 3))]);
  }
  check_close(run_on(regressor, x)[0].values, scores);
  const std::vector<Result> results = run_on(classifier, x);
  CHECK(results[0].values == labels);
  check_close(results[1].values, shares);
}

TEST_CASE("one linear score stands for two classes") {
  const Values x = drawn(rows * columns), w = drawn(columns);
  MlFile ml("LinearClassifier", {"N", columns}, {"label", "scores"});
  set_floats(set_floats(ml.node(), "coefficients", w), "intercepts", {0.25});
  set_list(ml.node(), "classlabels_ints", {4, 8});
  set_word(ml.node(), "post_transform", "LOGISTIC");
  Values labels, scores;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double score = product(x, row, w, 0) + 0.25;
    labels.push_back(score > 0 ? 8 : 4);
    scores.insert(scores.end(), {sigmoid(-score), sigmoid(score)});
  }
  CHECK(run_on(ml, x)[0].values == labels);
  check_close(run_on(ml, x)[1].values, scores);
}

TEST_CASE("imported support vector machines vote by pairs, with every kernel") {
  const Machine machine;
  const Values x = drawn(rows * columns);
  for (const char* type : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    CAPTURE(type);
    MlFile ml("SVMClassifier", {"N", columns}, {"label", "scores"});
    machine.describe(ml.node(), type);
    Values labels, scores;
    for (std::int64_t row = 0; row < rows; ++row) {
      const Values of_row = machine.scores(type, x, row);
      scores.insert(scores.end(), of_row.begin(), of_row.end());
      labels.push_back(Values{4, 8, 6}[static_cast<std::size_t>(vote_of(of_row))]);
    }
    CHECK(run_on(ml, x)[0].values == labels);
    check_close(run_on(ml, x)[1].values, scores, 1e-5);
  }
}

TEST_CASE("probabilities of pairs are coupled to those of the classes") {
  const Machine machine;
  const Values x = drawn(rows * columns), a{-1.5, -2, -0.75}, b{0.25, -0.125, 0.5};
  MlFile ml("SVMClassifier", {"N", columns}, {"label", "scores"});
  machine.describe(ml.node(), "RBF");
  set_floats(set_floats(ml.node(), "prob_a", a), "prob_b", b);
  const Values p = run_on(ml, x)[1].values;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Values scores = machine.scores("RBF", x, row);
    double r[3][3] = {};
    const auto pair = [&](int i, int j, std::size_t k) {
      r[i][j] = 1 / (1 + std::exp(a[k] * scores[k] + b[k]));
      r[j][i] = 1 - r[i][j];
    };
    pair(0, 1, 0);
    pair(0, 2, 1);
    pair(1, 2, 2);
    const auto loss = [&](const double* of) {
      double sum = 0;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) sum += std::pow(r[j][i] * of[i] - r[i][j] * of[j], 2);
      return sum;
    };
    const double* found = p.data() + row * 3;
    CHECK(found[0] + found[1] + found[2] == doctest::Approx(1));
    // The minimum: no way to move a hundredth from one class to another makes the loss smaller by
    // more than the rounds leave.
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        double moved[3] = {found[0], found[1], found[2]};
        moved[from] -= 0.01;
        moved[to] += 0.01;
        CHECK(loss(moved) >= loss(found) - 1e-6);
      }
    }
  }
}

TEST_CASE("an imported support vector regressor is a sum of kernels, or which side it is on") {
  const Values x = drawn(rows * columns), support = drawn(4 * columns), w = drawn(4);
  for (const bool one_class : {false, true}) {
    MlFile ml("SVMRegressor", {"N", columns}, {"y"});
    set_floats(set_floats(ml.node(), "coefficients", w), "support_vectors", support);
    set_floats(set_floats(ml.node(), "rho", {-0.125}), "kernel_params", {0.5, 0, 2});
    set_word(set(set(ml.node(), "n_supports", 4), "one_class", one_class ? 1 : 0), "kernel_type",
             "POLY");
    Values expected;
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = -0.125;
      for (std::int64_t v = 0; v < 4; ++v)
        sum += w[static_cast<std::size_t>(v)] * std::pow(0.5 * product(x, row, support, v), 2);
      expected.push_back(one_class ? (sum > 0 ? 1 : -1) : sum);
    }
    check_close(run_on(ml, x)[0].values, expected, 1e-5);
  }
}

TEST_CASE("vectors that are counted, but not there, are refused") {
  MlFile ml("SVMClassifier", {"N", columns}, {"label", "scores"});
  set_list(set_list(ml.node(), "classlabels_ints", {0, 1}), "vectors_per_class", {1 << 29, 1});
  set_floats(ml.node(), "support_vectors", Values(6, 1));
  check_error(ml.file, ErrorKind::model, {"counts 536870913 vectors, but support_vectors has 6"});
}

TEST_CASE("broken linear models are refused") {
  const auto refuses = [](const std::string& op, const std::function<void(onnx::NodeProto&)>& edit,
                          const std::string& message) {
    MlFile ml(op, {"N", columns}, {"y"});
    if (op.find("Classifier") != std::string::npos)
      set_list(ml.node(), "classlabels_ints", {0, 1, 2});
    edit(ml.node());
    check_error(ml.file, ErrorKind::model, {message});
  };
  refuses(
      "LinearRegressor", [](auto& node) { set_floats(node, "coefficients", Values(5, 1)); },
      "x (dim 1) is 3");
  refuses(
      "LinearRegressor",
      [](auto& node) { set(set_floats(node, "coefficients", Values(7, 1)), "targets", 2); },
      "coefficients has 7 elements, which are no 2 rows");
  refuses(
      "LinearRegressor",
      [](auto& node) {
        set_floats(set_floats(node, "coefficients", Values(3, 1)), "intercepts", {1, 2});
      },
      "intercepts has 2 elements, but there are 1 targets");
  refuses(
      "LinearClassifier",
      [](auto& node) {
        set_floats(set_floats(node, "coefficients", Values(6, 1)), "intercepts", {1, 2});
      },
      "intercepts has 2 elements, but there are 3 class labels");
  refuses(
      "LinearClassifier", [](auto& node) { node.clear_attribute(); },
      "it needs classlabels_ints or classlabels_strings");
  refuses(
      "SVMRegressor", [](auto& node) { set_floats(node, "coefficients", Values(3, 1)); },
      "rho has 0 elements; it needs 1");
  refuses(
      "SVMClassifier", [](auto& node) { set_list(node, "vectors_per_class", {1, -2, 3}); },
      "must be counts");
  refuses(
      "SVMClassifier", [](auto& node) { set_list(node, "vectors_per_class", {1, 2}); },
      "vectors_per_class has 2 elements, but there are 3");
  refuses(
      "SVMClassifier",
      [](auto& node) {
        set_floats(set_list(node, "vectors_per_class", {1, 1, 1}), "support_vectors", Values(9, 1));
      },
      "rho has 0 elements; it needs 3");
  refuses(
      "SVMClassifier",
      [](auto& node) {
        set_word(set_floats(set_list(node, "vectors_per_class", {1, 1, 1}), "support_vectors",
                            Values(9, 1)),
                 "kernel_type", "COSINE");
      },
      "kernel_type COSINE is unknown");
}

}  // namespace dyn::testing::ml_linear
