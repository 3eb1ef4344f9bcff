#pragma once
// What a ticket of a contraction brings into scratch for one block of K, as IR.

#include <optional>

#include "targets/cpu/contraction/ticket.hpp"
#include "targets/cpu/move/strip_copy.hpp"

namespace dyn::cpu {

class ContractionCopies : protected ContractionBlocks {
 protected:
  using ContractionBlocks::ContractionBlocks;

  /// Where the block's depth is opened: of one whose class has strips.
  void find_strip();

  /// A's rows.
  void copy_a_block();
  /// The same where they are windows: those of rows that full tiles read in a strip only there.
  void copy_window_block();
  WindowBlock window_block();
  /// B's few columns as rows, where all lanes run along K.
  void copy_b_rows();
  /// B's columns beyond the last whole vector as rows, where the block has them and dots compute
  /// them.
  void copy_rest_of_b();
  /// B's panels; where B is read as it lies, the one that is cut.
  void pack_b_block();

  /// Whether full tiles read A's windows in a strip, and the rows of the block that they have; the
  /// copy of A begins behind these.
  llvm::Value *reads_strip_ = nullptr, *rows_in_strip_ = nullptr;
  std::optional<Strip> strip_;
  /// A's first row of the block at k = 0, and B of the batch; where the block of K begins, and its
  /// depth.
  llvm::Value *a_block_ = nullptr, *a_stride_m_ = nullptr, *b_batch_ = nullptr, *k0_ = nullptr,
              *k_size_ = nullptr;
};

}  // namespace dyn::cpu
