#pragma once
// Memory that the blocks of a launch share: each leaves there its part of a tile that several
// compute, and the last one to arrive has them all. Nobody waits, so blocks may run in any order.

#include <cstddef>
#include <cstdint>

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/problem/operands.hpp"

namespace dyn::ptx {

/// rkernel::Launch::shared_bytes of a launch: rkernel::counter_bytes of counters, one i32 for each
/// shared tile, then places of equal size, one for each part.
class PartMemory {
 public:
  /// `word`: ptr addrspace(3) to 4 bytes that no thread uses while arrive() runs. `thread`: its
  /// index in the block, i32.
  PartMemory(codegen::Builder& builder, llvm::Value* memory, llvm::Value* word, llvm::Value* thread)
      : builder_(builder), memory_(memory), word_(word), thread_(thread) {}

  /// Place `index` (i32), of `bytes` bytes, a multiple of 16.
  llvm::Value* place(llvm::Value* index, std::size_t bytes);
  /// All threads of the block call this when they have stored their part of tile `tile` (i32), of
  /// which `count` (i32) blocks have a part. Returns an i1, alike for all threads: this was the
  /// last part, and all of them can be read. The counter is then 0 again.
  llvm::Value* arrive(llvm::Value* tile, llvm::Value* count);

  static std::size_t bytes(std::int64_t places, std::size_t bytes_of_place);

 private:
  codegen::Builder& builder_;
  llvm::Value *memory_, *word_, *thread_;
};

/// The address of the memory follows those of the `operands` operands. Only launches that share
/// tiles have one.
llvm::Value* load_part_memory(codegen::Builder& builder, const codegen::KernelArgsValues& args,
                              std::size_t operands);

}  // namespace dyn::ptx
