#pragma once
// Products of f32 by weights that may be multiplied in fewer bits.

#include <set>

#include "graph/fusion/group.hpp"
#include "graph/ir/module.hpp"

namespace dyn::graph {

/// True where the target multiplies integers by the right side of the product, a matrix of f32 of
/// the file, as codes of few bits: by the model's own, as they lie, or by those that it makes of
/// all weights.
bool multiplies_codes(const Module& module, const Node& node, const DecomposeOptions& target);

class ConstantProducts {
 public:
  /// `group`: how many elements of the depth are multiplied at once (product_group_of()).
  ConstantProducts(const Module& module, std::int64_t group);

  /// A matmul or window_matmul of f32 by one matrix of the file, perhaps behind views, whose depth
  /// is known, and whose channels, where it has windows, consist of whole groups; or a conv of one
  /// group by filters of such.
  bool contains(const Node& node) const;
  /// The same of any depth.
  bool has(const Node& node) const;

  /// The weight behind views; no_value: there is none, or its elements are read for themselves too
  /// and are kept once, for both.
  ValueId weight_of(ValueId id) const;

 private:
  const Module& module_;
  const std::int64_t group_;
  std::set<ValueId> moved_;
};

}  // namespace dyn::graph
