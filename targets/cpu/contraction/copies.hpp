#pragma once
// What a ticket of a contraction brings into scratch for one block of K, as IR.

#include <optional>

#include "targets/cpu/contraction/ticket.hpp"
#include "targets/cpu/move/strip_copy.hpp"

namespace dyn::cpu {

/// A and B of a ticket's block, as they lie.
struct BlockFactors {
  llvm::Value *a, *a_stride_m;  ///< the block's first row at k = 0, and elements from row to row,
                                ///< or groups: without meaning where rows are no whole ones
  llvm::Value* b;               ///< the matrix of the batch
};

/// A's windows in a strip of their tensor.
struct BlockStrip {
  Strip strip;
  llvm::Value* is_read;  ///< whether full tiles read the windows there
  llvm::Value* rows;     ///< how many they read there; the copy of A begins behind these
};

/// One iteration of a ticket along K.
struct BlockOfK {
  BlockFactors factors;
  llvm::Value *index, *start, *size;
  std::optional<BlockStrip> strip;  ///< only with ContractionClass::strips
};

BlockFactors locate_factors(const ContractionFunction& code, const Ticket& ticket);
BlockOfK locate_block_of_k(const ContractionFunction& code, const Ticket& ticket,
                           const BlockFactors& factors, llvm::Value* index);

/// What the rKernel moves before the tiles of the block.
void emit_block_move(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block,
                     const rkernel::Move& move);

/// B's columns beyond the last whole vector as rows, where the block has them and dots compute
/// them.
void copy_rest_of_b(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block);

}  // namespace dyn::cpu
