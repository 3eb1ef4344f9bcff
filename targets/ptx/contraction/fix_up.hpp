#pragma once
// Blocks that share a tile of the output, each with a part of K: they leave their sums in global
// memory, and the last one to arrive adds all in the order of K. Nobody waits, so blocks may run in
// any order, and the result does not depend on it.

#include <cstddef>
#include <span>
#include <vector>

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

/// Values of one tile, the same for all threads of a block.
struct TileParts {
  llvm::Value* tile = nullptr;   ///< i32: its index among the tiles that blocks share
  llvm::Value* first = nullptr;  ///< i32: the first ticket that has a part of it
  llvm::Value* count = nullptr;  ///< i32: tickets that have
};

class FixUp {
 public:
  /// `memory`: ptr addrspace(1) to rkernel::counter_bytes of counters, one i32 for each tile, then
  /// the places of sums. `word`: ptr addrspace(3) to 4 bytes that no thread uses.
  FixUp(codegen::Builder& builder, llvm::Value* memory, llvm::Value* word, llvm::Value* thread,
        int threads)
      : builder_(builder), memory_(memory), word_(word), thread_(thread), threads_(threads) {}

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
  llvm::Value* place(llvm::Value* index, std::size_t sums, std::size_t vector);

  codegen::Builder& builder_;
  llvm::Value *memory_, *word_, *thread_;
  int threads_;
};

}  // namespace dyn::ptx
