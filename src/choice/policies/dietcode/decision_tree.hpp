#pragma once
// A classification tree, grown once from votes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dyn::choice {

/// CART (Breiman, Friedman, Olshen, Stone: Classification and Regression Trees): each inner node
/// asks whether one number is at most a threshold; the question is the one after which the Gini
/// impurity of both sides is least. Grown until all votes of a leaf agree, or cannot be told apart;
/// then the most frequent label wins, of equally frequent ones the least. Immutable; thread-safe.
class DecisionTree {
 public:
  static constexpr std::size_t features = 4;
  using Point = std::array<std::int64_t, features>;
  struct Vote {
    Point point{};
    std::size_t label = 0;
  };

  /// Without votes every point has label 0.
  explicit DecisionTree(const std::vector<Vote>& votes);
  std::size_t label(const Point& point) const;
  std::size_t nodes() const { return nodes_.size(); }

 private:
  friend class TreeGrower;
  static constexpr std::uint32_t leaf = features;
  struct Node {
    std::uint32_t feature = leaf;
    std::uint32_t above = 0;     ///< node of points above the threshold; those below come next
    std::int64_t threshold = 0;  ///< of a leaf: its label
  };
  std::vector<Node> nodes_;
};

}  // namespace dyn::choice
