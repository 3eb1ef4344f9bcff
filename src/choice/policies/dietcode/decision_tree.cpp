#include "src/choice/policies/dietcode/decision_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dyn::choice {

class TreeGrower {
 public:
  TreeGrower(const std::vector<DecisionTree::Vote>& votes, std::vector<DecisionTree::Node>& nodes)
      : votes_(votes), nodes_(nodes) {
    std::size_t labels = 0;
    for (const DecisionTree::Vote& vote : votes) labels = std::max(labels, vote.label + 1);
    all_.resize(labels);
    below_.resize(labels);
    // Each feature's order is made once; splits keep it.
    for (std::size_t feature = 0; feature < DecisionTree::features; ++feature) {
      order_[feature].resize(votes.size());
      std::iota(order_[feature].begin(), order_[feature].end(), 0u);
      std::ranges::stable_sort(order_[feature], {},
                               [&](std::uint32_t vote) { return votes[vote].point[feature]; });
    }
    grow(0, votes.size());
  }

 private:
  struct Split {
    std::size_t feature = DecisionTree::features;
    std::size_t below = 0;  ///< votes
    std::int64_t threshold = 0;
    double purity = -1;
  };

  std::int64_t value(std::size_t feature, std::size_t position) const {
    return votes_[order_[feature][position]].point[feature];
  }
  std::size_t label(std::size_t feature, std::size_t position) const {
    return votes_[order_[feature][position]].label;
  }

  void grow(std::size_t begin, std::size_t end) {
    const std::size_t node = nodes_.size();
    nodes_.emplace_back();
    std::ranges::fill(all_, 0);
    for (std::size_t i = begin; i < end; ++i) ++all_[label(0, i)];
    const auto most = std::ranges::max_element(all_);
    nodes_[node].threshold = most - all_.begin();
    if (*most == static_cast<std::int64_t>(end - begin)) return;
    const Split split = best_split(begin, end);
    if (split.feature == DecisionTree::features) return;
    divide(split, begin, end);
    grow(begin, begin + split.below);
    nodes_[node] = {static_cast<std::uint32_t>(split.feature),
                    static_cast<std::uint32_t>(nodes_.size()), split.threshold};
    grow(begin + split.below, end);
  }

  // The least sum of both sides' Gini impurities, weighted by their votes: the most sum of squared
  // counts over votes. all_: counts of [begin, end).
  Split best_split(std::size_t begin, std::size_t end) {
    const std::int64_t squares =
        std::accumulate(all_.begin(), all_.end(), std::int64_t{0},
                        [](std::int64_t sum, std::int64_t n) { return sum + n * n; });
    Split best;
    for (std::size_t feature = 0; feature < DecisionTree::features; ++feature) {
      if (value(feature, begin) == value(feature, end - 1)) continue;
      std::ranges::fill(below_, 0);
      std::int64_t squares_below = 0, squares_above = squares;
      for (std::size_t i = begin; i + 1 < end; ++i) {
        std::int64_t& moved = below_[label(feature, i)];
        squares_above -= 2 * (all_[label(feature, i)] - moved) - 1;
        squares_below += 2 * moved + 1;
        ++moved;
        const std::int64_t low = value(feature, i), high = value(feature, i + 1);
        if (low == high) continue;
        const double purity =
            static_cast<double>(squares_below) / static_cast<double>(i + 1 - begin) +
            static_cast<double>(squares_above) / static_cast<double>(end - i - 1);
        if (purity > best.purity) best = {feature, i + 1 - begin, low + (high - low) / 2, purity};
      }
    }
    return best;
  }

  void divide(const Split& split, std::size_t begin, std::size_t end) {
    for (std::vector<std::uint32_t>& order : order_) {
      above_.clear();
      std::size_t next = begin;
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t vote = order[i];
        if (votes_[vote].point[split.feature] <= split.threshold)
          order[next++] = vote;
        else
          above_.push_back(vote);
      }
      std::ranges::copy(above_, order.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }

  const std::vector<DecisionTree::Vote>& votes_;
  std::vector<DecisionTree::Node>& nodes_;
  std::array<std::vector<std::uint32_t>, DecisionTree::features> order_;
  std::vector<std::int64_t> all_, below_;  ///< votes of each label
  std::vector<std::uint32_t> above_;
};

DecisionTree::DecisionTree(const std::vector<Vote>& votes) {
  if (votes.empty())
    nodes_.emplace_back();
  else
    TreeGrower(votes, nodes_);
}

std::size_t DecisionTree::label(const Point& point) const {
  std::size_t node = 0;
  while (nodes_[node].feature != leaf)
    node = point[nodes_[node].feature] <= nodes_[node].threshold ? node + 1 : nodes_[node].above;
  return static_cast<std::size_t>(nodes_[node].threshold);
}

}  // namespace dyn::choice
