#pragma once
// Blocks that share the rows of a tile, each with a part of the keys (flash decoding; Dao and
// others 2023): the last one to arrive merges the parts in the order of their keys.

#include <vector>

#include "targets/ptx/attention/softmax.hpp"
#include "targets/ptx/sharing/part_memory.hpp"

namespace dyn::ptx {

/// The part of a ticket among those of its tile of rows, i32.
struct KeyPart {
  llvm::Value* tile = nullptr;   ///< its index among all tiles of the launch
  llvm::Value* first = nullptr;  ///< place of the tile's first part
  llvm::Value* place = nullptr;  ///< of this part: places of one tile go up with the keys
  llvm::Value* count = nullptr;  ///< parts of the tile whose keys any row sees; 1 at least
};

/// Maximum and sum of a row over the keys of one part.
struct RowStatistics {
  llvm::Value *maximum, *sum;
};

/// A place (GpuAttentionTile::part_bytes) has the statistics of all rows, then the rows' outputs,
/// not yet divided by any sum. Rows that do not exist have none.
class KeyParts {
 public:
  KeyParts(codegen::Builder& builder, const AttentionProducts& products, OnlineSoftmax& softmax,
           const KeyPart& part, const PartMemory& memory, llvm::Value* thread)
      : builder_(builder),
        products_(products),
        tile_(products.tile()),
        softmax_(softmax),
        part_(part),
        memory_(memory),
        thread_(thread) {}

  /// All threads of the block leave what their block has: the statistics of their rows, and the
  /// outputs of `rows` (i32) rows, which are published at `shared`. Returns an i1, alike for all
  /// threads: this was the last part.
  llvm::Value* leave(const std::vector<RowStatistics>& statistics, llvm::Value* shared,
                     llvm::Value* rows);
  /// Where leave() gave true: publishes the outputs of all parts, divided by their sums, at
  /// `shared`.
  void merge(llvm::Value* shared, llvm::Value* rows);

 private:
  llvm::Value* number(int value) const { return ptx::number(builder_, value); }
  llvm::Value* place(llvm::Value* index);
  llvm::Value* statistics_at(llvm::Value* place, llvm::Value* row);
  llvm::Value* published_at(llvm::Value* shared, llvm::Value* row, llvm::Value* column);
  llvm::FixedVectorType* floats(int count) const;
  void leave_statistics(const std::vector<RowStatistics>& statistics);
  /// Calls visit(row, column, index), i32, for each group of columns that is the thread's.
  template <class Visit>
  void for_each_group(llvm::Value* rows, const Visit& visit);
  /// Place of part i + j of a tile, or of the last one; `exists`, i1: there is such a part.
  llvm::Value* place_of_part(llvm::Value* index, llvm::Value*& exists);
  llvm::Value* largest(llvm::Value* row);
  llvm::Value* merged(llvm::Value* row, llvm::Value* offset);

  codegen::Builder& builder_;
  const AttentionProducts& products_;
  const choice::GpuAttentionTile& tile_;
  OnlineSoftmax& softmax_;
  const KeyPart part_;
  PartMemory memory_;
  llvm::Value* thread_;
};

}  // namespace dyn::ptx
