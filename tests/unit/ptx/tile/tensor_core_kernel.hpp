#pragma once
// The smallest kernel around a tensor-core leaf: one block, plain copies to shared memory, a
// barrier, the leaf, plain stores.

#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/tile/leaf.hpp"

namespace dyn::test {

/// One block's tile. Warps, block, k of one stage.
choice::GpuTile tensor_core_tile(DType operands, int warp_m, int warp_n, int block_m, int block_n,
                                 int block_k, int stages = 2);

/// The tile with A and B in each other's place in mma.
choice::GpuTile swapped(choice::GpuTile tile);

/// The dtype of A: that of the tile, which is B's; bytes without sign by those with sign.
inline DType left_factor(const choice::GpuTile& tile) {
  return tile.integers() ? DType::u8 : tile.operands;
}

/// A tree for make_tensor_core_leaf, with the problem that it points to.
struct TensorCoreTree {
  TensorCoreTree(const choice::GpuTile& tile, DType a, DType b);
  explicit TensorCoreTree(const choice::GpuTile& tile)
      : TensorCoreTree(tile, left_factor(tile), tile.operands) {}
  rkernel::Problem problem;
  rkernel::RKernel kernel;
};

/// Operands: A, block_m x K; B, K x block_n or (RowsAlongK) block_n x K; C, block_m x block_n
/// floats, or i32 of integers; places, which has for each thread and accumulator the row * block_n
/// + column that it is stored at. K = block_k * `blocks_k`. All dense.
std::unique_ptr<llvm::Module> tensor_core_kernel(llvm::LLVMContext& context,
                                                 const choice::GpuTile& tile, ptx::BOrder order,
                                                 int blocks_k);

/// "bf16 64x64x32, warps 32x32, rows along n"
std::string name_of(const choice::GpuTile& tile, ptx::BOrder order);

/// Tiles from one warp of 16 x 64 to eight warps, and of 8 rows and more with A and B swapped, for
/// every dtype.
std::vector<choice::GpuTile> tensor_core_tiles();

inline constexpr ptx::BOrder b_orders[] = {ptx::BOrder::RowsAlongN, ptx::BOrder::RowsAlongK};

}  // namespace dyn::test
