#pragma once
// Gradient-boosted regression trees, by XGBoost.

#include <memory>
#include <span>
#include <vector>

namespace dyn::tune {

struct BoostedTreesSettings {
  int trees = 80;
  int depth = 6;      ///< questions between a root and a leaf
  double rate = 0.2;  ///< of what is left to explain, what one tree takes
};

/// Least squares over examples. Equal examples give equal trees; one thread grows them. Immutable;
/// not thread-safe. Errors of the library are Error(internal).
class BoostedTrees {
 public:
  /// `features`: one row for each target, all of the same length, none empty.
  BoostedTrees(const std::vector<std::vector<float>>& features, std::span<const float> targets,
               const BoostedTreesSettings& settings = {});
  ~BoostedTrees();
  BoostedTrees(const BoostedTrees&) = delete;
  BoostedTrees& operator=(const BoostedTrees&) = delete;

  double operator()(std::span<const float> features) const;

 private:
  struct Booster;
  std::unique_ptr<const Booster> booster_;
};

}  // namespace dyn::tune
