// TreeEnsembleRegressor and TreeEnsemble.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/ops/ml/scores.hpp"
#include "src/import/onnx/ops/ml/trees.hpp"

namespace dyn::onnx {
namespace {

constexpr std::array<std::string_view, 4> aggregates{"AVERAGE", "SUM", "MIN", "MAX"};

/// A target alone knows one transform, as in ONNX Runtime.
void give_targets(TensorExpr scores, const TreeEnsemble& ensemble, std::string_view aggregate,
                  const std::vector<double>& base, DType dtype) {
  NodeContext& node = scores.node();
  if (aggregate == "AVERAGE" && !ensemble.roots.empty())
    scores = scores / static_cast<double>(ensemble.roots.size());
  if (!base.empty()) {
    if (static_cast<std::int64_t>(base.size()) != ensemble.results)
      node.fail(fmt::format("base_values has {} elements, but there are {} targets", base.size(),
                            ensemble.results));
    scores = scores + numbers(node, scores.dtype(), {ensemble.results}, base);
  }
  const PostTransform transform = post_transform_of(node);
  if (ensemble.results > 1 || transform == PostTransform::Probit)
    scores = transformed(scores, transform);
  node.give(cast(scores, dtype).id());
}

std::string_view kernel_word(std::string_view aggregate) {
  return aggregate == "MIN" ? "min" : aggregate == "MAX" ? "max" : "sum";
}

void convert_regressor(NodeContext& node) {
  const std::string word = node.word("aggregate_function", "SUM");
  const auto aggregate = std::ranges::find(aggregates, word);
  if (aggregate == aggregates.end())
    node.fail(fmt::format("aggregate_function {} is unknown", word));
  const TreeEnsemble ensemble = read_trees(node, "target_", node.integer("n_targets", 1));
  const TensorExpr scores = walk_trees(rows_of_input(node), ensemble, kernel_word(*aggregate));
  give_targets(scores, ensemble, *aggregate, numbers_or_tensor(node, "base_values"), DType::f32);
}

/// The trees of TreeEnsemble: inner nodes and leaves are lists of their own, whose places are ids.
class EnsembleReader {
 public:
  explicit EnsembleReader(NodeContext& node) : node_(node) {}

  TreeEnsemble read() {
    read_nodes();
    read_leaves();
    for (const std::int64_t root : list("tree_roots"))
      ensemble_.roots.push_back(place(root, inner_, "tree_roots names node"));
    ensemble_.results = node_.integer("n_targets", 1);
    for (const std::int32_t target : ensemble_.targets) {
      if (target < 0 || target >= ensemble_.results)
        node_.fail(
            fmt::format("a leaf has target {}, but there are {}", target, ensemble_.results));
    }
    ensemble_.name_of = [inner = inner_](std::uint32_t i) {
      return i < inner ? fmt::format("node {}", i) : fmt::format("leaf {}", i - inner);
    };
    return std::move(ensemble_);
  }

 private:
  Integers list(const char* name) const { return node_.integers(name).value_or(Integers()); }

  Integers list(const char* name, std::size_t size) const {
    Integers given = list(name);
    if (given.size() != size)
      node_.fail(
          fmt::format("{} has {} elements, but there are {} nodes", name, given.size(), size));
    return given;
  }

  std::uint32_t place(std::int64_t id, std::size_t count, const char* whose) const {
    if (id < 0 || id >= static_cast<std::int64_t>(count))
      node_.fail(fmt::format("{} {}, but there are {}", whose, id, count));
    return static_cast<std::uint32_t>(id);
  }

  /// Each place that names a leaf gets a node of its own, behind the inner ones.
  void read_nodes() {
    const Tensor given_modes = node_.take_tensor("nodes_modes");
    if (is_float(given_modes.dtype)) node_.fail("nodes_modes must be integers");
    const std::vector<std::int64_t> modes = integers_of(given_modes);
    const std::vector<double> thresholds = numbers_of(node_.take_tensor("nodes_splits"));
    inner_ = modes.size();
    const Integers features = list("nodes_featureids", inner_),
                   yes = list("nodes_truenodeids", inner_), no = list("nodes_falsenodeids", inner_),
                   yes_is_leaf = list("nodes_trueleafs", inner_),
                   no_is_leaf = list("nodes_falseleafs", inner_);
    const Integers missing = list("nodes_missing_value_tracks_true");
    if (thresholds.size() != inner_ || (!missing.empty() && missing.size() != inner_))
      node_.fail(
          fmt::format("nodes_splits and nodes_missing_value_tracks_true (if it is there) "
                      "must have {} elements, as many as nodes_modes",
                      inner_));
    if (inner_ > most_nodes) node_.fail("it has too many nodes");
    ensemble_.nodes.resize(inner_);
    for (std::size_t i = 0; i < inner_; ++i) {
      if (modes[i] < 0 || modes[i] > static_cast<std::int64_t>(TreeMode::Member))
        node_.fail(fmt::format("node {} has mode {}; modes are 0 to {}", i, modes[i],
                               static_cast<int>(TreeMode::Member)));
      if (features[i] < 0 || features[i] > std::int64_t{most_nodes})
        node_.fail(fmt::format("node {} asks for feature {}", i, features[i]));
      TreeNode node;
      node.mode = modes_of_file[static_cast<std::size_t>(modes[i])];
      node.feature = static_cast<std::int32_t>(features[i]);
      node.threshold = thresholds[i];
      node.nan_is_yes = !missing.empty() && missing[i] != 0;
      node.yes = child(yes[i], yes_is_leaf[i] != 0);
      node.no = child(no[i], no_is_leaf[i] != 0);
      ensemble_.nodes[i] = node;
    }
    read_members();
  }

  std::uint32_t child(std::int64_t id, bool is_leaf) {
    if (!is_leaf) return place(id, inner_, "a node is followed by node");
    leaves_.push_back(place(id, list_size("leaf_targetids"), "a node is followed by leaf"));
    ensemble_.nodes.emplace_back();
    return static_cast<std::uint32_t>(ensemble_.nodes.size() - 1);
  }

  std::size_t list_size(const char* name) const {
    const AttributeProto* found = node_.attribute(name);
    return found == nullptr ? 0 : static_cast<std::size_t>(found->ints_size());
  }

  void read_leaves() {
    ensemble_.weights = numbers_of(node_.take_tensor("leaf_weights"));
    for (const std::int64_t target : list("leaf_targetids", ensemble_.weights.size()))
      ensemble_.targets.push_back(
          target < 0 || target > std::int64_t{most_nodes} ? -1 : static_cast<std::int32_t>(target));
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      TreeNode& node = ensemble_.nodes[inner_ + i];
      node.first = leaves_[i];
      node.end = leaves_[i] + 1;
    }
  }

  /// One list after the other, in the order of the nodes that ask; a NaN ends each.
  void read_members() {
    if (node_.attribute("membership_values") != nullptr)
      ensemble_.members = numbers_of(node_.take_tensor("membership_values"));
    const std::vector<double>& members = ensemble_.members;
    auto next = members.begin();
    for (std::size_t i = 0; i < inner_; ++i) {
      TreeNode& node = ensemble_.nodes[i];
      if (node.mode != TreeMode::Member) continue;
      const auto end =
          std::find_if(next, members.end(), [](double each) { return std::isnan(each); });
      if (end == members.end())
        node_.fail(fmt::format("membership_values ends before the members of node {}", i));
      node.first = static_cast<std::uint32_t>(next - members.begin());
      node.end = static_cast<std::uint32_t>(end - members.begin());
      next = end + 1;
    }
  }

  static constexpr std::int32_t most_nodes = std::numeric_limits<std::int32_t>::max() / 4;
  static constexpr std::array<TreeMode, 7> modes_of_file{
      TreeMode::Leq, TreeMode::Lt,  TreeMode::Gte,   TreeMode::Gt,
      TreeMode::Eq,  TreeMode::Neq, TreeMode::Member};

  NodeContext& node_;
  TreeEnsemble ensemble_;
  std::size_t inner_ = 0;
  std::vector<std::uint32_t> leaves_;  ///< of the nodes behind the inner ones
};

void convert_ensemble(NodeContext& node) {
  const std::int64_t number = node.integer("aggregate_function", 1);
  if (number < 0 || number >= std::ssize(aggregates))
    node.fail(fmt::format("aggregate_function is {}; functions are 0 to 3", number));
  const std::string_view aggregate = aggregates[static_cast<std::size_t>(number)];
  const DType dtype = node.type(0).dtype;
  const TreeEnsemble ensemble = EnsembleReader(node).read();
  const TensorExpr scores = walk_trees(rows_of_input(node), ensemble, kernel_word(aggregate));
  give_targets(scores, ensemble, aggregate, {}, dtype);
}

}  // namespace

Family tree_operators() {
  return {{"TreeEnsembleRegressor", convert_regressor},
          {"TreeEnsembleClassifier", convert_tree_classifier},
          {"TreeEnsemble", convert_ensemble, Halves::InF32}};
}

}  // namespace dyn::onnx
