#pragma once
// Matmuls by constant matrices, with the element-wise work that follows each alone.

#include <optional>
#include <string>
#include <vector>

#include "graph/fusion/fusion_graph.hpp"

namespace dyn::graph {

/// A matmul, and the element-wise nodes behind it that read its result, each other, scalars, and
/// weights with one element for each column. One value leaves them.
struct Sibling {
  int matmul = -1;
  std::vector<int> behind;          ///< in an order of execution
  std::string followers;            ///< what they compute: equal where they do the same
  ValueId weight = no_value;        ///< a matrix, or filters of one tap
  std::vector<ValueId> columns_of;  ///< weights of one element for each column, as they are read
  ValueId result = no_value;        ///< what leaves
  std::int64_t columns = 0;

  bool is_plain = false;  ///< no more than an addition follows a product by a matrix
};

/// Nothing where the node is no such matmul, or several values leave.
std::optional<Sibling> find_sibling(const FusionGraph& graph, int id);

}  // namespace dyn::graph
