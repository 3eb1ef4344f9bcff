// TreeEnsembleClassifier, in ONNX Runtime's reading: the specification leaves open what two classes
// that share one score are, what a class is that the leaves of a row do not mention, and what base
// values are that are fewer than classes.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/ops/ml/scores.hpp"
#include "src/import/onnx/ops/ml/trees.hpp"

namespace dyn::onnx {
namespace {

/// Says of which classes the leaves of a row speak.
enum class Mention : std::uint8_t { Never, Sometimes, Always };

/// A class is always mentioned where all leaves of one tree do so. The nodes of a tree stand
/// together.
std::vector<Mention> mentions_of(const TreeEnsemble& ensemble) {
  const auto classes = static_cast<std::size_t>(ensemble.results);
  std::vector<Mention> mentions(classes, Mention::Never);
  std::vector<std::int64_t> counts(classes, 0);
  for (std::size_t tree = 0; tree < ensemble.roots.size(); ++tree) {
    const std::size_t first = ensemble.roots[tree], last = tree + 1 < ensemble.roots.size()
                                                               ? ensemble.roots[tree + 1]
                                                               : ensemble.nodes.size();
    std::int64_t leaves = 0;
    std::vector<std::int32_t> mentioned;
    for (std::size_t i = first; i < last; ++i) {
      const TreeNode& node = ensemble.nodes[i];
      if (node.mode != TreeMode::Leaf) continue;
      ++leaves;
      std::vector<std::int32_t> targets(ensemble.targets.begin() + node.first,
                                        ensemble.targets.begin() + node.end);
      std::ranges::sort(targets);
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      for (const std::int32_t target : targets) {
        ++counts[static_cast<std::size_t>(target)];
        mentioned.push_back(target);
      }
    }
    for (const std::int32_t target : mentioned) {
      const auto at = static_cast<std::size_t>(target);
      const Mention here = counts[at] == leaves ? Mention::Always : Mention::Sometimes;
      if (counts[at] > 0) mentions[at] = std::max(mentions[at], here);
      counts[at] = 0;
    }
  }
  return mentions;
}

class TreeClassifier {
 public:
  explicit TreeClassifier(NodeContext& node)
      : node_(node),
        labels_(node, "classlabels_int64s"),
        ensemble_(read_trees(node, "class_", labels_.count())),
        mentions_(mentions_of(ensemble_)),
        base_(numbers_or_tensor(node, "base_values")),
        transform_(post_transform_of(node)),
        x_(rows_of_input(node)),
        sums_(walk_trees(x_, ensemble_, "sum")) {
    if (static_cast<std::int64_t>(base_.size()) > labels_.count())
      node.fail(fmt::format("base_values has {} elements, but there are {} classes", base_.size(),
                            labels_.count()));
  }

  void convert() {
    if (labels_.count() == 1) return give_one();
    if (labels_.count() == 2) return give_two();
    const TensorExpr scores = with_base(sums_);
    give_scores(transformed(scores, transform_));
    labels_.give(best_of(where_scored(scores)));
  }

 private:
  /// The score that decides between two classes, [B, 1], and the scores of both.
  struct Two {
    TensorExpr decisive, scores;
  };

  void give_one() {
    const TensorExpr score = with_base(sums_);
    give_scores(transform_ == PostTransform::Probit ? transformed(score, transform_) : score);
    labels_.give_one_where(less(score.scalar(0), score));
  }

  void give_two() {
    const auto of_first = [&](std::int32_t target) { return target == ensemble_.targets.front(); };
    const bool share_one =
                   !ensemble_.targets.empty() && std::ranges::all_of(ensemble_.targets, of_first),
               are_shares = share_one && std::ranges::none_of(ensemble_.weights,
                                                              [](double each) { return each < 0; });
    const Two first = from_first(are_shares);
    const Two two = mentions_[1] == Mention::Never ? first : if_mentioned(1, from_both(), first);
    give_scores(two.scores);
    const TensorExpr is_second = less(two.decisive.scalar(are_shares ? 0.5 : 0), two.decisive);
    if (share_one)
      labels_.give_second_where(is_second);
    else
      labels_.give_one_where(is_second);
  }

  /// For rows whose leaves mention the second class.
  Two from_both() const {
    const TensorExpr first = column(sums_, 0);
    if (base_.size() == 2) {
      const TensorExpr second = first + base_[1];
      return {second, transformed(concat({if_mentioned(0, -second), second}, 1), transform_)};
    }
    const TensorExpr second = column(sums_, 1);
    const TensorExpr both =
        base_.empty() ? sums_ : concat({if_mentioned(0, first + base_[0]), second}, 1);
    return {second, transformed(both, transform_)};
  }

  /// For rows whose leaves do not.
  Two from_first(bool are_shares) const {
    const TensorExpr sum = column(sums_, 0),
                     first = base_.empty() ? sum : if_mentioned(0, sum + base_[0]);
    if (base_.size() == 2) return {first, transformed(concat({first, first * 0.0}, 1), transform_)};
    return {first, scores_of_both(first, !are_shares, transform_)};
  }

  TensorExpr is_mentioned(std::int64_t target) const {
    return less(sums_.scalar(0), column(mentioned(), target));
  }

  /// The score, or 0 for rows whose leaves do not mention the class.
  TensorExpr if_mentioned(std::size_t target, const TensorExpr& score) const {
    if (mentions_[target] == Mention::Always) return score;
    if (mentions_[target] == Mention::Never) return score * 0.0;
    return where(is_mentioned(static_cast<std::int64_t>(target)), score, 0.0);
  }

  Two if_mentioned(std::size_t target, const Two& yes, const Two& no) const {
    if (mentions_[target] == Mention::Always) return yes;
    const TensorExpr is_there = is_mentioned(static_cast<std::int64_t>(target));
    return {where(is_there, yes.decisive, no.decisive), where(is_there, yes.scores, no.scores)};
  }

  TensorExpr with_base(const TensorExpr& scores) const {
    if (base_.empty()) return scores;
    std::vector<double> all = base_;
    all.resize(static_cast<std::size_t>(labels_.count()), 0);
    return scores + numbers(node_, scores.dtype(), {labels_.count()}, all);
  }

  /// 1 where a leaf of the row mentions the class, else 0.
  TensorExpr mentioned() const {
    TreeEnsemble ensemble = ensemble_;
    std::ranges::fill(ensemble.weights, 1);
    return walk_trees(x_, ensemble, "max");
  }

  /// A class that neither a leaf of the row nor base values mention is never the best.
  TensorExpr where_scored(const TensorExpr& scores) const {
    std::vector<double> always;
    for (std::size_t i = 0; i < mentions_.size(); ++i)
      always.push_back(i < base_.size() || mentions_[i] == Mention::Always ? 1 : 0);
    if (std::ranges::find(always, 0) == always.end()) return scores;
    const TensorExpr is_mentioned =
        mentioned() + numbers(node_, scores.dtype(), {labels_.count()}, always);
    return where(equal(is_mentioned, 0.0), -std::numeric_limits<double>::infinity(), scores);
  }

  void give_scores(const TensorExpr& scores) const { node_.give(cast(scores, DType::f32).id(), 1); }

  NodeContext& node_;
  const ClassLabels labels_;
  const TreeEnsemble ensemble_;
  const std::vector<Mention> mentions_;
  const std::vector<double> base_;
  const PostTransform transform_;
  const TensorExpr x_, sums_;
};

}  // namespace

void convert_tree_classifier(NodeContext& node) { TreeClassifier(node).convert(); }

}  // namespace dyn::onnx
