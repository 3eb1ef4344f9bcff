#pragma once
// Ensembles of decision trees as files describe them, and the operator that walks them.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// What a node asks of its feature: `yes` follows where x <= threshold, x < threshold, ... or x is
/// among its members.
enum class TreeMode : std::uint8_t { Leq, Lt, Gte, Gt, Eq, Neq, Member, Leaf };

struct TreeNode {
  TreeMode mode = TreeMode::Leaf;
  bool nan_is_yes = false;  ///< else a NaN is compared as any number
  std::int32_t feature = 0;
  double threshold = 0;
  std::uint32_t yes = 0, no = 0;     ///< nodes of the ensemble
  std::uint32_t first = 0, end = 0;  ///< Leaf: of targets and weights; Member: of members
};

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<std::uint32_t> roots;
  std::vector<std::int32_t> targets;  ///< of leaves, each below `results`
  std::vector<double> weights;
  std::vector<double> members;
  std::int64_t results = 1;
  std::function<std::string(std::uint32_t)> name_of;  ///< a node, for messages
};

/// The rows of the node's input 0, of which a vector is one, in the dtype that trees are walked in:
/// f64, or f32 for all others.
TensorExpr rows_of_input(NodeContext& node);

/// For each row of x [B, F] the sum, min or max (`aggregate`) of the trees' answers: [B, results].
/// Fails where nodes follow each other in a circle or belong to two trees, and where x does not
/// have a feature.
TensorExpr walk_trees(const TensorExpr& x, const TreeEnsemble& ensemble,
                      std::string_view aggregate);

/// The trees of TreeEnsembleClassifier and TreeEnsembleRegressor. `leaves` begins the names of the
/// attributes that hold the leaves' weights: class_ or target_.
TreeEnsemble read_trees(NodeContext& node, const std::string& leaves, std::int64_t results);

/// The numbers of the attribute, or of the tensor that is called so with _as_tensor behind it.
std::vector<double> numbers_or_tensor(NodeContext& node, const std::string& name);

void convert_tree_classifier(NodeContext& node);

}  // namespace dyn::onnx
