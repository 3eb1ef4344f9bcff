// Trees as TreeEnsembleClassifier and TreeEnsembleRegressor have them: each node by the ids of its
// tree and of itself.

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "src/import/onnx/ops/ml/trees.hpp"

namespace dyn::onnx {
namespace {

struct NodeId {
  std::int64_t tree, node;
  auto operator<=>(const NodeId&) const = default;
};

std::string name_of(NodeId id) { return fmt::format("node {} of tree {}", id.node, id.tree); }

std::vector<std::int64_t> list_of(NodeContext& node, const std::string& name, std::size_t size) {
  std::vector<std::int64_t> list = node.integers(name).value_or(Integers());
  if (list.size() != size)
    node.fail(fmt::format("{} has {} elements, but there are {} ids", name, list.size(), size));
  return list;
}

/// Nodes by their ids. The search begins where the id would stand if those of a tree counted up
/// from the first one's, which they mostly do.
class NodeIndex {
 public:
  NodeIndex(NodeContext& node, const std::vector<NodeId>& ids) : node_(node) {
    if (ids.size() > std::numeric_limits<std::int32_t>::max()) node.fail("it has too many nodes");
    for (std::size_t i = 0; i < ids.size(); ++i)
      sorted_.emplace_back(ids[i], static_cast<std::uint32_t>(i));
    if (!std::ranges::is_sorted(sorted_)) std::ranges::sort(sorted_);
    const auto twice = std::ranges::adjacent_find(sorted_, {}, &Entry::first);
    if (twice != sorted_.end()) node.fail(name_of(twice->first) + " stands there twice");
  }

  std::uint32_t find(NodeId id, const std::string& whose) const {
    const auto found = std::ranges::lower_bound(sorted_, id, {}, &Entry::first);
    if (found == sorted_.end() || found->first != id)
      node_.fail(fmt::format("{} is {}, which is not there", whose, name_of(id)));
    return found->second;
  }
  /// `beside` is the place of a node of the same tree.
  std::uint32_t find(NodeId id, std::uint32_t beside, const std::vector<NodeId>& ids,
                     const char* whose) const {
    // Any number may stand in a file: beyond all ids it wraps around.
    const std::uint64_t guess =
        beside + static_cast<std::uint64_t>(id.node) - static_cast<std::uint64_t>(ids[beside].node);
    if (guess < ids.size() && ids[guess] == id) return static_cast<std::uint32_t>(guess);
    return find(id, fmt::format("the {} of {}", whose, name_of(ids[beside])));
  }

 private:
  using Entry = std::pair<NodeId, std::uint32_t>;
  NodeContext& node_;
  std::vector<Entry> sorted_;
};

struct NamedMode {
  std::string_view name;
  TreeMode mode;
};
constexpr std::array<NamedMode, 7> modes{{{"BRANCH_LEQ", TreeMode::Leq},
                                          {"BRANCH_LT", TreeMode::Lt},
                                          {"BRANCH_GTE", TreeMode::Gte},
                                          {"BRANCH_GT", TreeMode::Gt},
                                          {"BRANCH_EQ", TreeMode::Eq},
                                          {"BRANCH_NEQ", TreeMode::Neq},
                                          {"LEAF", TreeMode::Leaf}}};

TreeMode mode_named(NodeContext& node, const std::string& name) {
  const auto found = std::ranges::find(modes, name, &NamedMode::name);
  if (found == modes.end()) node.fail(fmt::format("the mode {} is unknown", name));
  return found->mode;
}

class TreeReader {
 public:
  TreeReader(NodeContext& node, const std::string& leaves, std::int64_t results)
      : node_(node), ids_(read_ids("nodes_")), index_(node, ids_), leaves_(leaves) {
    ensemble_.results = results;
    ensemble_.name_of = [ids = ids_](std::uint32_t i) { return onnx::name_of(ids[i]); };
  }

  TreeEnsemble read() {
    read_roots();
    read_nodes();
    read_weights();
    return std::move(ensemble_);
  }

 private:
  std::vector<NodeId> read_ids(const std::string& prefix) const {
    const std::vector<std::int64_t> nodes = node_.integers(prefix + "nodeids").value_or(Integers());
    const std::vector<std::int64_t> trees = list_of(node_, prefix + "treeids", nodes.size());
    std::vector<NodeId> ids;
    ids.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) ids.push_back({trees[i], nodes[i]});
    return ids;
  }

  void read_nodes() {
    const std::size_t count = ids_.size();
    const Integers features = list_of(node_, "nodes_featureids", count),
                   yes = list_of(node_, "nodes_truenodeids", count),
                   no = list_of(node_, "nodes_falsenodeids", count);
    const std::vector<double> thresholds = numbers_or_tensor(node_, "nodes_values");
    const Integers missing = node_.integers("nodes_missing_value_tracks_true").value_or(Integers());
    const AttributeProto* words = node_.attribute("nodes_modes");
    if (words == nullptr || static_cast<std::size_t>(words->strings_size()) != count ||
        thresholds.size() != count || (!missing.empty() && missing.size() != count))
      node_.fail(
          fmt::format("nodes_modes, nodes_values and nodes_missing_value_tracks_true (if it is "
                      "there) must have {} elements, as many as nodes_nodeids",
                      count));
    ensemble_.nodes.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      TreeNode& node = ensemble_.nodes[i];
      node.mode = mode_named(node_, words->strings(static_cast<int>(i)));
      if (node.mode == TreeMode::Leaf) continue;
      const auto child = [&](std::int64_t id, const char* whose) {
        return index_.find({ids_[i].tree, id}, static_cast<std::uint32_t>(i), ids_, whose);
      };
      constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 2;
      if (features[i] < 0 || features[i] > most)
        node_.fail(fmt::format("{} asks for feature {}", onnx::name_of(ids_[i]), features[i]));
      node.feature = static_cast<std::int32_t>(features[i]);
      node.threshold = thresholds[i];
      node.nan_is_yes = !missing.empty() && missing[i] != 0;
      node.yes = child(yes[i], "true node");
      node.no = child(no[i], "false node");
    }
  }

  /// The first node of each tree, trees in the order in which they are begun.
  void read_roots() {
    std::vector<std::int64_t> begun;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (i > 0 && ids_[i].tree == ids_[i - 1].tree) continue;
      begun.push_back(ids_[i].tree);
      ensemble_.roots.push_back(static_cast<std::uint32_t>(i));
    }
    std::ranges::sort(begun);
    const auto twice = std::ranges::adjacent_find(begun);
    if (twice != begun.end())
      node_.fail(fmt::format("the nodes of tree {} do not stand together", *twice));
  }

  /// What a file says of nodes that are no leaves is nobody's answer.
  void read_weights() {
    const std::vector<NodeId> ids = read_ids(leaves_);
    const Integers targets = list_of(node_, leaves_ + "ids", ids.size());
    const std::vector<double> weights = numbers_or_tensor(node_, leaves_ + "weights");
    if (weights.size() != ids.size())
      node_.fail(fmt::format("{0}weights has {1} elements, but {0}nodeids has {2}", leaves_,
                             weights.size(), ids.size()));
    std::vector<std::uint32_t> nodes;
    for (const NodeId id : ids) {
      nodes.push_back(index_.find(id, "a leaf of " + leaves_ + "nodeids"));
      ++ensemble_.nodes[nodes.back()].end;
    }
    std::uint32_t first = 0;
    for (TreeNode& node : ensemble_.nodes) {
      node.first = std::exchange(first, first + node.end);
      node.end = node.first;
    }
    ensemble_.targets.resize(ids.size());
    ensemble_.weights.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (targets[i] < 0 || targets[i] >= ensemble_.results)
        node_.fail(fmt::format("{} gives a weight to {}, but there are {}", onnx::name_of(ids[i]),
                               targets[i], ensemble_.results));
      const std::uint32_t place = ensemble_.nodes[nodes[i]].end++;
      ensemble_.targets[place] = static_cast<std::int32_t>(targets[i]);
      ensemble_.weights[place] = weights[i];
    }
  }

  NodeContext& node_;
  const std::vector<NodeId> ids_;
  const NodeIndex index_;
  const std::string leaves_;
  TreeEnsemble ensemble_;
};

}  // namespace

std::vector<double> numbers_or_tensor(NodeContext& node, const std::string& name) {
  const std::string tensor = name + "_as_tensor";
  return node.attribute(tensor) != nullptr ? numbers_of(node.take_tensor(tensor))
                                           : node.numbers(name);
}

TreeEnsemble read_trees(NodeContext& node, const std::string& leaves, std::int64_t results) {
  return TreeReader(node, leaves, results).read();
}

}  // namespace dyn::onnx
