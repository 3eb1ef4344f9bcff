#pragma once
// The rows of attention's tiles: queries of one head, or of all heads that share keys and values.

#include <cstdint>
#include <vector>

#include "targets/ptx/copies/launch_values.hpp"

namespace dyn::ptx {

/// The batch axis whose heads are rows of one tile, with the queries: the innermost one that may
/// have several, and along which neither keys nor values vary. -1: there is none.
int axis_of_shared_heads(const rkernel::Problem& problem);

/// Slots of the division of rows by the number of heads; none where rows are queries.
struct HeadSlots {
  int multiplier = codegen::SlotTable::none, shift = codegen::SlotTable::none;
};
/// `heads`: the axis, or -1.
HeadSlots add_head_slots(codegen::SlotTable& slots, int heads);
/// `heads`: how many there are.
void set_head_slots(const HeadSlots& slots, std::int64_t heads, std::vector<std::int64_t>& ints);

/// Row r of one element of the batch is query r / heads of head r % heads: a later row sees no
/// fewer keys under a causal mask, and the heads of a query are neighbours.
class QueryRows {
 public:
  /// Indices, i64. head: nullptr where rows are queries.
  struct Index {
    llvm::Value *query = nullptr, *head = nullptr;
  };

  /// `heads`: the axis, or -1. `values` must outlive this.
  QueryRows(codegen::Builder& builder, const LaunchValues& values, const codegen::SlotTable& slots,
            int queries, int heads, const HeadSlots& division)
      : builder_(builder),
        values_(values),
        slots_(slots),
        queries_(queries),
        heads_(heads),
        division_(division) {}

  int heads_axis() const { return heads_; }
  bool has_heads() const { return heads_ >= 0; }
  /// All rows of one element of the batch, i64.
  llvm::Value* extent() const;
  /// Goes to a tile, by its first row, i64.
  void enter(llvm::Value* first);
  /// The indices of a row of the tile (i32), which need not exist. Numbers of the launch are loaded
  /// here, so that they take no registers elsewhere.
  Index at(llvm::Value* row) const;
  /// The operand's elements between index 0 and this one along both axes, i64.
  llvm::Value* distance(int operand, const Index& index) const;

 private:
  codegen::Builder& builder_;
  const LaunchValues& values_;
  const codegen::SlotTable& slots_;
  const int queries_, heads_;
  const HeadSlots division_;
  llvm::Value* first_query_ = nullptr;  ///< i64
  llvm::Value* first_head_ = nullptr;   ///< i32
};

}  // namespace dyn::ptx
