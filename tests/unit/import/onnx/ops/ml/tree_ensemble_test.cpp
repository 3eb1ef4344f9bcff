// Imported ensembles of trees, beside the walk that the specification describes, in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "dyn/texts.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/ops/ml/ml_file.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::ml {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t columns = 4;
const std::vector<std::string> mode_names{"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",   "BRANCH_GT",
                                          "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER"};

std::int64_t drawn(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator());
}

struct TestNode {
  bool is_leaf = true, nan_is_yes = false;
  std::size_t mode = 0;
  std::int64_t feature = 0;
  double threshold = 0;
  std::size_t yes = 0, no = 0;
  std::vector<double> members;
  std::vector<std::pair<std::int64_t, double>> weights;  ///< of a leaf: target, weight
};
using TestTree = std::vector<TestNode>;

bool answer(const TestNode& node, double x) {
  const double t = node.threshold;
  if (node.nan_is_yes && std::isnan(x)) return true;
  switch (node.mode) {
    case 0: return x <= t;
    case 1: return x < t;
    case 2: return x >= t;
    case 3: return x > t;
    case 4: return x == t;
    case 5: return x != t;
    default: return std::ranges::find(node.members, x) != node.members.end();
  }
}

/// Numbers are multiples of 1/4, and weights of 1/64, so that some meet and sums are exact.
TestTree drawn_tree(std::int64_t inner, std::int64_t targets, bool has_members) {
  TestTree tree(1);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (static_cast<std::int64_t>(tree.size() / 2) < inner) {
      TestNode node;
      node.is_leaf = false;
      node.nan_is_yes = drawn(0, 2) == 0;
      node.mode = static_cast<std::size_t>(drawn(0, has_members ? 6 : 5));
      node.feature = drawn(0, columns - 1);
      node.threshold = static_cast<double>(drawn(-6, 6)) / 4;
      node.yes = tree.size();
      node.no = tree.size() + 1;
      for (std::int64_t m = drawn(0, 6); node.mode == 6 && m > 0; --m)
        node.members.push_back(static_cast<double>(drawn(-6, 6)) / 4);
      tree[i] = node;
      tree.resize(tree.size() + 2);
    } else {
      for (std::int64_t target = 0; target < targets; ++target)
        tree[i].weights.emplace_back(target, static_cast<double>(drawn(-64, 64)) / 64);
    }
  }
  return tree;
}

const TestNode& leaf_of(const TestTree& tree, const double* row) {
  std::size_t node = 0;
  while (!tree[node].is_leaf)
    node = answer(tree[node], row[tree[node].feature]) ? tree[node].yes : tree[node].no;
  return tree[node];
}

Values joined(const std::vector<TestTree>& trees, const Values& x, std::int64_t targets,
              const std::string& aggregate) {
  Values y;
  for (std::size_t row = 0; row * columns < x.size(); ++row) {
    for (std::int64_t target = 0; target < targets; ++target) {
      Values given;
      for (const TestTree& tree : trees) {
        for (const auto& [of, weight] : leaf_of(tree, x.data() + row * columns).weights)
          if (of == target) given.push_back(weight);
      }
      double sum = 0;
      for (const double each : given) sum += each;
      y.push_back(aggregate == "SUM"       ? sum
                  : aggregate == "AVERAGE" ? sum / static_cast<double>(trees.size())
                  : aggregate == "MIN"     ? *std::ranges::min_element(given)
                                           : *std::ranges::max_element(given));
    }
  }
  return y;
}

Values drawn_x(std::int64_t rows) {
  Values x;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    x.push_back(drawn(0, 7) == 0 ? nan : static_cast<double>(drawn(-8, 8)) / 4);
  return x;
}

template <class T>
Result run_first(const OnnxFile& file, const Values& x, std::int64_t rows) {
  const std::vector<T> data(x.begin(), x.end());
  return run_all(file, {{"x", Tensor::view(data, {rows, columns})}}).front();
}

/// The attributes of the operators with ids; `leaves` begins the names of the leaves' ones.
void set_trees(onnx::NodeProto& node, const std::vector<TestTree>& trees, const std::string& leaves,
               bool of_doubles = false) {
  std::map<std::string, std::vector<std::int64_t>> ints;
  std::vector<double> thresholds, weights;
  std::vector<std::string> modes;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    for (std::size_t i = 0; i < trees[t].size(); ++i) {
      const TestNode& each = trees[t][i];
      const auto add = [&](const std::string& name, std::size_t value) {
        ints[name].push_back(static_cast<std::int64_t>(value));
      };
      // Ids that do not count up.
      const auto id = [&](std::size_t place) { return 7 * t + 100 - place; };
      add("nodes_treeids", t);
      add("nodes_nodeids", id(i));
      add("nodes_featureids", static_cast<std::size_t>(each.feature));
      add("nodes_truenodeids", each.is_leaf ? 0 : id(each.yes));
      add("nodes_falsenodeids", each.is_leaf ? 0 : id(each.no));
      add("nodes_missing_value_tracks_true", each.nan_is_yes ? 1 : 0);
      thresholds.push_back(each.threshold);
      modes.push_back(each.is_leaf ? "LEAF" : mode_names[each.mode]);
      for (const auto& [target, weight] : each.weights) {
        add(leaves + "treeids", t);
        add(leaves + "nodeids", id(i));
        add(leaves + "ids", static_cast<std::size_t>(target));
        weights.push_back(weight);
      }
    }
  }
  for (const auto& [name, list] : ints) set_list(node, name, list);
  set_words(node, "nodes_modes", modes);
  if (of_doubles) {
    set_tensor(node, "nodes_values_as_tensor", thresholds, onnx::TensorProto::DOUBLE);
    set_tensor(node, leaves + "weights_as_tensor", weights, onnx::TensorProto::DOUBLE);
  } else {
    set_floats(node, "nodes_values", thresholds);
    set_floats(node, leaves + "weights", weights);
  }
}

std::vector<TestTree> drawn_trees(std::int64_t targets, bool has_members = false) {
  std::vector<TestTree> trees;
  for (std::int64_t count = drawn(1, 12); count > 0; --count)
    trees.push_back(drawn_tree(drawn(0, 12), targets, has_members));
  return trees;
}

/// One question, whose answers are leaves with these weights by class; ids are 0, 1, 2.
MlFile two_leaves(const std::vector<std::map<std::int64_t, double>>& leaves,
                  const std::vector<std::int64_t>& labels) {
  TestTree tree(3);
  tree[0].is_leaf = false;
  tree[0].yes = 1;
  tree[0].no = 2;
  for (std::size_t i = 0; i < 2; ++i) tree[i + 1].weights = {leaves[i].begin(), leaves[i].end()};
  MlFile ml("TreeEnsembleClassifier", {"N", columns}, {"label", "scores"});
  set_trees(ml.node(), {tree}, "class_");
  if (!labels.empty()) set_list(ml.node(), "classlabels_int64s", labels);
  return ml;
}

std::vector<Result> run_both(const OnnxFile& file) {
  const std::vector<float> x{-1, 0, 0, 0, 1, 0, 0, 0};
  return run_all(file, {{"x", Tensor::view(x, {2, columns})}});
}

}  // namespace

TEST_CASE("imported regressors walk trees of every mode, and join them in every way") {
  for (int round = 0; round < test_rounds(40, 4); ++round) {
    CAPTURE(round);
    const std::int64_t targets = drawn(1, 3), rows = drawn(0, 20);
    const std::string aggregate = std::vector<std::string>{
        "SUM", "AVERAGE", "MIN", "MAX"}[static_cast<std::size_t>(drawn(0, 3))];
    const bool of_doubles = drawn(0, 1) == 0;
    const std::vector<TestTree> trees = drawn_trees(targets);
    MlFile ml("TreeEnsembleRegressor", {"N", columns}, {"y"},
              of_doubles ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
    set_trees(ml.node(), trees, "target_", of_doubles);
    set(ml.node(), "n_targets", targets);
    set_word(ml.node(), "aggregate_function", aggregate);
    const Values x = drawn_x(rows), base{0.5, -0.25, 2};
    const bool has_base = drawn(0, 1) == 0;
    if (has_base) set_floats(ml.node(), "base_values", {base.begin(), base.begin() + targets});
    Values expected = joined(trees, x, targets, aggregate);
    for (std::size_t i = 0; has_base && i < expected.size(); ++i)
      expected[i] += base[i % static_cast<std::size_t>(targets)];
    const Result y =
        of_doubles ? run_first<double>(ml.file, x, rows) : run_first<float>(ml.file, x, rows);
    CHECK(y.shape == Shape{rows, targets});
    check_close(y.values, expected);
  }
}

TEST_CASE("a chain of equalities, as of categories, is walked as it stands") {
  for (int round = 0; round < test_rounds(20, 4); ++round) {
    CAPTURE(round);
    TestTree tree;
    const std::int64_t length = drawn(2, 40), other = drawn(0, length);
    for (std::int64_t i = 0; i < length; ++i) {
      TestNode node;
      node.is_leaf = false;
      node.mode = drawn(0, 3) == 0 ? 5 : 4;
      node.nan_is_yes = drawn(0, 9) == 0;
      node.feature = i == other ? 1 : 0;
      node.threshold = static_cast<double>(drawn(-6, 6)) / 4;
      const std::size_t next = tree.size() + 2, leaf = tree.size() + 1;
      node.yes = node.mode == 4 ? leaf : next;
      node.no = node.mode == 4 ? next : leaf;
      tree.push_back(node);
      tree.emplace_back();
      tree.back().weights = {{0, static_cast<double>(i)}};
    }
    tree.emplace_back();
    tree.back().weights = {{0, -1}};
    MlFile ml("TreeEnsembleRegressor", {"N", columns}, {"y"});
    set_trees(ml.node(), {tree}, "target_");
    const Values x = drawn_x(50);
    check_close(run_first<float>(ml.file, x, 50).values, joined({tree}, x, 1, "SUM"));
  }
}

TEST_CASE("imported TreeEnsembles name their nodes by place, and know members") {
  for (int round = 0; round < test_rounds(40, 4); ++round) {
    CAPTURE(round);
    const std::int64_t targets = drawn(1, 3), rows = drawn(0, 20);
    std::vector<TestTree> trees;
    for (std::int64_t count = drawn(1, 9); count > 0; --count)
      trees.push_back(drawn_tree(drawn(1, 12), 1, true));
    std::map<std::string, std::vector<std::int64_t>> ints;
    Values thresholds, modes, members, weights;
    for (TestTree& tree : trees) {
      std::vector<std::int64_t> places;
      auto inner = static_cast<std::int64_t>(thresholds.size()),
           leaf = static_cast<std::int64_t>(weights.size());
      for (const TestNode& node : tree) places.push_back(node.is_leaf ? leaf++ : inner++);
      ints["tree_roots"].push_back(places[0]);
      for (TestNode& node : tree) {
        if (node.is_leaf) {
          node.weights[0].first = drawn(0, targets - 1);
          ints["leaf_targetids"].push_back(node.weights[0].first);
          weights.push_back(node.weights[0].second);
          continue;
        }
        thresholds.push_back(node.threshold);
        modes.push_back(static_cast<double>(node.mode));
        members.insert(members.end(), node.members.begin(), node.members.end());
        if (node.mode == 6) members.push_back(nan);
        ints["nodes_featureids"].push_back(node.feature);
        ints["nodes_truenodeids"].push_back(places[node.yes]);
        ints["nodes_falsenodeids"].push_back(places[node.no]);
        ints["nodes_trueleafs"].push_back(tree[node.yes].is_leaf ? 1 : 0);
        ints["nodes_falseleafs"].push_back(tree[node.no].is_leaf ? 1 : 0);
        ints["nodes_missing_value_tracks_true"].push_back(node.nan_is_yes ? 1 : 0);
      }
    }
    MlFile ml("TreeEnsemble", {"N", columns}, {"y"}, onnx::TensorProto::DOUBLE);
    for (const auto& [name, list] : ints) set_list(ml.node(), name, list);
    set_tensor(ml.node(), "nodes_splits", thresholds, onnx::TensorProto::DOUBLE);
    set_tensor(ml.node(), "nodes_modes", modes, onnx::TensorProto::UINT8);
    set_tensor(ml.node(), "leaf_weights", weights, onnx::TensorProto::DOUBLE);
    set_tensor(ml.node(), "membership_values", members, onnx::TensorProto::DOUBLE);
    set(ml.node(), "n_targets", targets);
    const Values x = drawn_x(rows);
    check_close(run_first<double>(ml.file, x, rows).values, joined(trees, x, targets, "SUM"));
  }
}

TEST_CASE("the post transforms of TreeEnsemble have the numbers of the specification") {
  const Values weights{0.5, -1, 2};
  const auto run_with = [&](std::int64_t number) {
    MlFile ml("TreeEnsemble", {"N", columns}, {"y"});
    set_tensor(ml.node(), "nodes_splits", {0, 0, 0}, onnx::TensorProto::FLOAT);
    set_tensor(ml.node(), "nodes_modes", {0, 0, 0}, onnx::TensorProto::UINT8);
    set_tensor(ml.node(), "leaf_weights", weights, onnx::TensorProto::FLOAT);
    set_list(ml.node(), "tree_roots", {0, 1, 2});
    set_list(ml.node(), "leaf_targetids", {0, 1, 2});
    set_list(ml.node(), "nodes_featureids", {0, 0, 0});
    for (const char* name : {"nodes_trueleafs", "nodes_falseleafs"})
      set_list(ml.node(), name, {1, 1, 1});
    for (const char* name : {"nodes_truenodeids", "nodes_falsenodeids"})
      set_list(ml.node(), name, {0, 1, 2});
    set(ml.node(), "n_targets", 3);
    set(ml.node(), "post_transform", number);
    return run_first<float>(ml.file, Values(columns, 1), 1).values;
  };
  double sum = 0;
  for (const double each : weights) sum += std::exp(each);
  Values shares, logistic;
  for (const double each : weights) {
    shares.push_back(std::exp(each) / sum);
    logistic.push_back(sigmoid(each));
  }
  check_close(run_with(0), weights);
  check_close(run_with(1), shares);
  check_close(run_with(2), logistic);
  check_close(run_with(3), shares);
}

// ONNX Runtime's results: two rows of one tree, whose leaves say this of the classes 5 and 7.
TEST_CASE("two classes share one score, or have one each") {
  struct Case {
    std::vector<std::map<std::int64_t, double>> leaves;
    std::vector<double> base;
    std::string transform;
    Values labels, scores;
  };
  const double s3 = sigmoid(0.25), s8 = sigmoid(0.75);
  const std::vector<Case> cases{
      {{{{0, 0.25}}, {{0, 0.75}}}, {}, "NONE", {5, 7}, {0.75, 0.25, 0.25, 0.75}},
      {{{{0, 0.25}}, {{0, 0.75}}}, {}, "LOGISTIC", {5, 7}, {1 - s3, s3, 1 - s8, s8}},
      {{{{0, -0.25}}, {{0, 0.75}}}, {}, "NONE", {5, 7}, {0.25, -0.25, -0.75, 0.75}},
      {{{{0, -0.25}}, {{0, 0.75}}}, {0.5}, "NONE", {7, 7}, {-0.25, 0.25, -1.25, 1.25}},
      {{{{0, 0.25}}, {{0, 0.75}}}, {0.5, 9}, "NONE", {7, 7}, {0.75, 0, 1.25, 0}},
      {{{{1, 0.25}}, {{1, 0.75}}}, {}, "NONE", {5, 7}, {0, 0.25, 0, 0.75}},
      {{{{1, 0.25}}, {{1, 0.75}}}, {9, 0.625}, "NONE", {7, 7}, {0, 0.625, 0, 0.625}},
      {{{{0, 0.75}, {1, -0.25}}, {{0, 0.25}, {1, 0.75}}},
       {},
       "NONE",
       {0, 1},
       {0.75, -0.25, 0.25, 0.75}},
      {{{{0, 0.75}, {1, 0.25}}, {{0, 0.25}, {1, 0.75}}},
       {9, 0.5},
       "NONE",
       {1, 1},
       {-1.25, 1.25, -0.75, 0.75}},
      {{{{0, -0.75}}, {{1, 0.75}}}, {}, "NONE", {0, 1}, {0.75, -0.75, 0, 0.75}},
      {{{{0, -0.75}}, {{1, 0.75}}}, {0.5, 0.25}, "NONE", {0, 1}, {-0.25, 0, 0, 0.25}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Case& each = cases[i];
    MlFile ml = two_leaves(each.leaves, {5, 7});
    if (!each.base.empty()) set_floats(ml.node(), "base_values", each.base);
    set_word(ml.node(), "post_transform", each.transform);
    const std::vector<Result> results = run_both(ml.file);
    CHECK(results[0].shape == Shape{2});
    CHECK(results[0].values == each.labels);
    CHECK(results[1].shape == Shape{2, 2});
    check_close(results[1].values, each.scores);
  }
}

TEST_CASE("one class, and many, some of which a row's leaves do not mention") {
  MlFile one = two_leaves({{{0, 0.25}}, {{0, -0.5}}}, {9});
  CHECK(run_both(one.file)[0].values == Values{1, 0});
  check_close(run_both(one.file)[1].values, {0.25, -0.5});
  MlFile many = two_leaves({{{0, -0.25}, {2, -0.125}}, {{0, -0.75}, {1, -0.875}}}, {5, 7, 9});
  CHECK(run_both(many.file)[0].values == Values{9, 5});
  check_close(run_both(many.file)[1].values, {-0.25, 0, -0.125, -0.75, -0.875, 0});
  set_floats(many.node(), "base_values", {0.125, 0.25, 0.375});
  CHECK(run_both(many.file)[0].values == Values{7, 9});
}

TEST_CASE("texts as labels are given by their places, with their list") {
  MlFile ml = two_leaves({{{0, 0.25}}, {{0, 0.75}}}, {});
  set_words(ml.node(), "classlabels_strings", {"no", "yes"});
  Logged logged;
  logged.options.strict = true;
  const std::vector<float> x{-1, 0, 0, 0, 1, 0, 0, 0};
  const Graph graph = load(ml.file, logged.options);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {2, columns})}});
  CHECK(outputs["label"].dtype() == DType::i64);
  CHECK(outputs["label"].data<std::int64_t>()[0] == 0);
  CHECK(outputs["label"].data<std::int64_t>()[1] == 1);
  CHECK(TextCoder(graph).decode("label", outputs["label"]) ==
        std::vector<std::string>{"no", "yes"});
  CHECK(logged.warnings.empty());
  // What does not read them is not disturbed.
  ml.file.model.mutable_graph()->mutable_output()->DeleteSubrange(0, 1);
  CHECK_NOTHROW(load(ml.file, logged.options));
}

TEST_CASE("a tree may be a hundred thousand nodes deep") {
  TestTree tree;
  constexpr std::size_t depth = 100'000;
  for (std::size_t i = 0; i < depth; ++i) {
    TestNode node;
    node.is_leaf = false;
    node.threshold = -static_cast<double>(i);
    node.yes = tree.size() + 2;
    node.no = tree.size() + 1;
    tree.push_back(node);
    tree.emplace_back();
    tree.back().weights = {{0, static_cast<double>(i)}};
  }
  tree.emplace_back();
  tree.back().weights = {{0, -1}};
  MlFile ml("TreeEnsembleRegressor", {"N", columns}, {"y"});
  set_trees(ml.node(), {tree}, "target_");
  const Values x{-1000.5, 0, 0, 0, -1e9, 0, 0, 0, 1, 0, 0, 0};
  check_close(run_first<float>(ml.file, x, 3).values, {1001, -1, 0});
}

TEST_CASE("broken ensembles are refused with their node") {
  const auto refuses = [](const std::function<void(onnx::NodeProto&)>& edit,
                          const std::string& message) {
    TestTree tree(5);
    for (const std::size_t i : {0, 1}) {
      tree[i].is_leaf = false;
      tree[i].yes = 2 * i + 1;
      tree[i].no = 2 * i + 2;
    }
    for (const std::size_t i : {2, 3, 4}) tree[i].weights = {{0, 1}};
    MlFile ml("TreeEnsembleRegressor", {"N", columns}, {"y"});
    set_trees(ml.node(), {tree, tree}, "target_");
    edit(ml.node());
    check_error(ml.file, ErrorKind::model, {message, "TreeEnsembleRegressor"});
  };
  const auto list = [](onnx::NodeProto& node, const char* name) -> onnx::AttributeProto& {
    return *std::ranges::find(*node.mutable_attribute(), std::string(name),
                              [](const auto& each) { return each.name(); });
  };
  const auto edit_int = [&](const char* name, int place, std::int64_t value) {
    return [=](onnx::NodeProto& node) { list(node, name).set_ints(place, value); };
  };
  refuses(edit_int("nodes_truenodeids", 1, 100), "node 100 of tree 0 follows itself");
  refuses(edit_int("nodes_truenodeids", 1, 42),
          "the true node of node 99 of tree 0 is node 42 of tree 0, which is not there");
  refuses(edit_int("nodes_falsenodeids", 6, -1), "the false node of node 106 of tree 1");
  refuses(edit_int("nodes_truenodeids", 1, std::numeric_limits<std::int64_t>::max()),
          "which is not there");
  refuses(edit_int("nodes_nodeids", 2, 99), "node 99 of tree 0 stands there twice");
  refuses(edit_int("nodes_treeids", 9, 0), "the nodes of tree 0 do not stand together");
  refuses(edit_int("nodes_featureids", 1, 4),
          "node 99 of tree 0 asks for feature 4, but its input has 4");
  refuses(edit_int("nodes_featureids", 1, -2), "node 99 of tree 0 asks for feature -2");
  refuses(edit_int("nodes_featureids", 1, std::int64_t{1} << 40), "asks for feature");
  refuses(edit_int("target_ids", 1, 1), "gives a weight to 1, but there are 1");
  refuses(edit_int("target_nodeids", 1, 7), "which is not there");
  refuses([&](auto& node) { list(node, "nodes_values").set_floats(0, std::nanf("")); },
          "compares with a NaN");
  refuses([&](auto& node) { list(node, "nodes_modes").set_strings(0, "BRANCH"); },
          "the mode BRANCH is unknown");
  for (const char* name :
       {"nodes_featureids", "nodes_treeids", "nodes_truenodeids", "nodes_falsenodeids",
        "nodes_missing_value_tracks_true", "target_ids", "target_treeids"})
    refuses([&](auto& node) { list(node, name).mutable_ints()->RemoveLast(); }, "elements");
  refuses([&](auto& node) { list(node, "nodes_modes").mutable_strings()->RemoveLast(); },
          "10 elements");
  refuses([&](auto& node) { list(node, "nodes_values").mutable_floats()->RemoveLast(); },
          "10 elements");
  refuses([&](auto& node) { list(node, "target_weights").mutable_floats()->RemoveLast(); },
          "elements");
  refuses([](auto& node) { set_word(node, "aggregate_function", "MEAN"); },
          "aggregate_function MEAN");
  refuses([](auto& node) { set_word(node, "post_transform", "TANH"); }, "post_transform");
  refuses([](auto& node) { set_floats(node, "base_values", {1, 2}); },
          "base_values has 2 elements");
  refuses([](auto& node) { set(node, "n_targets", 0); }, "but there are 0");
}

TEST_CASE("an operator belongs to its domain") {
  MlFile ml("Scaler", {"N", columns}, {"y"});
  set_floats(set_floats(ml.node(), "scale", {2}), "offset", {1});
  CHECK_NOTHROW(load(ml.file));
  ml.node().clear_domain();
  check_error(ml.file, ErrorKind::unsupported, {"Scaler: 1 node(s)"});
  ml.node().set_domain("ai.onnx.ml");
  ml.node().set_op_type("Relu");
  check_error(ml.file, ErrorKind::unsupported, {"ai.onnx.ml.Relu: 1 node(s)"});
  ml.node().set_op_type("If");
  check_error(ml.file, ErrorKind::unsupported, {"ai.onnx.ml.If: 1 node(s)"});
}

TEST_CASE("a model of another domain alone imports no standard operators") {
  MlFile ml("Binarizer", {"N", columns}, {"y"});
  ml.file.model.mutable_opset_import()->DeleteSubrange(0, 1);
  CHECK_NOTHROW(load(ml.file));
  ml.file.node("Relu", {"x"}, {"z"});
  check_error(ml.file, ErrorKind::model, {"it imports no version of the standard operators"});
}

}  // namespace dyn::testing::ml
