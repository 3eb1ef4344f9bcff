#pragma once
// Blocks that share a tile of the output, each with a part of K: the last one to arrive adds the
// sums of all in the order of K, so that the result does not depend on the order of blocks.

#include <cstddef>
#include <span>
#include <vector>

#include "targets/ptx/sharing/part_memory.hpp"

namespace dyn::ptx {

/// Values of one tile, the same for all threads of a block.
struct TileParts {
  llvm::Value* tile = nullptr;   ///< i32: its index among the tiles that blocks share
  llvm::Value* first = nullptr;  ///< i32: the first ticket that has a part of it
  llvm::Value* count = nullptr;  ///< i32: tickets that have
};

class FixUp {
 public:
  FixUp(codegen::Builder& builder, const PartMemory& memory, llvm::Value* thread, int threads)
      : builder_(builder), memory_(memory), thread_(thread), threads_(threads) {}

  /// All threads of the block call this with their sums of the part that `ticket` (i32) has.
  /// Returns an i1, alike for all threads: this was the last part.
  llvm::Value* arrive(const TileParts& parts, llvm::Value* ticket,
                      std::span<llvm::Value* const> sums);
  /// The sums of all parts, f32 or i32 as `zeros` are, where arrive() gave true.
  std::vector<llvm::Value*> total(const TileParts& parts, std::span<llvm::Value* const> zeros);

  /// Bytes of the memory for tickets that share tiles so. Tickets and tiles go up together along K:
  /// the sum of both is a place of its own.
  static std::size_t bytes(std::int64_t tickets, std::int64_t tiles, std::int64_t tile_elements);

 private:
  llvm::Value* vector_at(llvm::Value* index, std::size_t sums, std::size_t vector);

  codegen::Builder& builder_;
  PartMemory memory_;
  llvm::Value* thread_;
  int threads_;
};

}  // namespace dyn::ptx
