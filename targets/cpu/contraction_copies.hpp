#pragma once
// What a ticket of a contraction brings into scratch for one block of K, as IR.

#include "targets/cpu/contraction_blocks.hpp"

namespace dyn::cpu {

class ContractionCopies : protected ContractionBlocks {
 protected:
  using ContractionBlocks::ContractionBlocks;

  /// A's rows.
  void copy_a_block();
  /// The same where they are windows.
  void copy_window_block();
  /// B's few columns as rows, where all lanes run along K.
  void copy_b_rows();
  /// B's columns beyond the last whole vector as rows, where the block has them and dots compute them.
  void copy_rest_of_b();
  /// B's panels; where B is read as it lies, the one that is cut.
  void pack_b_block();

  /// A's first row of the block at k = 0, and B of the batch; where the block of K begins, and its depth.
  llvm::Value *a_block_ = nullptr, *a_stride_m_ = nullptr, *b_batch_ = nullptr, *k0_ = nullptr, *k_size_ = nullptr;
};

}  // namespace dyn::cpu
