#pragma once
// Maps tickets to blocks of the output.

#include <map>

#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

/// Sizes of the grid, i64: blocks along m and n, and the extent of every batch axis.
struct GridSizes {
  llvm::Value *m_blocks = nullptr, *n_blocks = nullptr;
  std::map<int, llvm::Value*> batch;
};

/// The index along each axis of the grid's loops. Batch axes vary slowest, the last of them
/// fastest; within a batch, tickets go down a group of a few rows of blocks before the next column
/// of the group, so that blocks that run at the same time read few tiles of A and of B, again and
/// again, from L2.
std::map<int, llvm::Value*> locate_ticket(codegen::Builder& builder, const rkernel::RKernel& kernel,
                                          const GridSizes& sizes, llvm::Value* ticket);

}  // namespace dyn::ptx
