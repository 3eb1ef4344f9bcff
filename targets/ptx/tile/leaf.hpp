#pragma once
// Layer 0 and the warps of a contraction: the work of a block's threads on one stage in shared
// memory. One implementation for each engine; all else (tickets, moves, pipeline, epilogue) is the
// contraction emitter's.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/ptx/tile/shared_tile.hpp"

namespace dyn::ptx {

/// The layout of a block's tile of B in shared memory.
enum class BOrder : unsigned char {
  RowsAlongN,  ///< block_k rows of block_n elements
  RowsAlongK   ///< block_n rows of block_k elements
};

/// The places of a thread's accumulators. Every output of the block belongs to one thread.
class OutputPlaces {
 public:
  virtual ~OutputPlaces() = default;
  /// Row and column within the block, i32 values.
  struct Place {
    llvm::Value *row, *column;
  };
  virtual Place place(codegen::Builder& builder, std::size_t index) const = 0;
  /// So many accumulators, from an index that is a multiple of it on, lie side by side in a row,
  /// from a column on that is one too.
  virtual int side_by_side() const = 0;
  /// Of its warp's rows, the first of the 8 that the accumulator lies among in all lanes; 0 where
  /// outputs never go in bands (GpuTile::output_bands()).
  virtual int first_row(std::size_t /*index*/) const { return 0; }
};

class Leaf : public OutputPlaces {
 public:
  /// Tiles of one stage. A: block_m rows of block_k elements.
  virtual SharedTile a_tile() const = 0;
  virtual SharedTile b_tile() const = 0;
  /// Computes, at the builder's place, values that are constant in the loops: the thread's place in
  /// the block.
  virtual void prepare(codegen::Builder& builder) = 0;
  /// Accumulators of one thread, all f32, or all i32 where the tile multiplies integers.
  virtual std::vector<llvm::Value*> zeros(codegen::Builder& builder) = 0;
  /// accumulators + A * B over one stage; `a` and `b`: ptr addrspace(3) to its tiles. Elements
  /// beyond K are 0 there.
  virtual std::vector<llvm::Value*> multiply(codegen::Builder& builder, llvm::Value* a,
                                             llvm::Value* b,
                                             std::span<llvm::Value* const> accumulators) = 0;

  /// Where a tile loads fragments ahead (GpuTile::ahead): what a thread has in registers of a stage
  /// before it multiplies. Throws Error(internal) where it does not.
  virtual std::vector<llvm::Value*> first_fragments(codegen::Builder& builder, llvm::Value* a,
                                                    llvm::Value* b);
  /// multiply() from these on. `next` emits, once nothing of the stage is left to be loaded, and
  /// before its last multiplications, the loads of the next stage's, which `fragments` becomes.
  virtual std::vector<llvm::Value*> multiply_ahead(
      codegen::Builder& builder, llvm::Value* a, llvm::Value* b,
      std::span<llvm::Value* const> accumulators, std::vector<llvm::Value*>& fragments,
      const std::function<std::vector<llvm::Value*>()>& next);
};

/// Both read their tiles from the layers of the tree, not from elsewhere.
std::unique_ptr<Leaf> make_cuda_core_leaf(const rkernel::RKernel& kernel);
std::unique_ptr<Leaf> make_tensor_core_leaf(const rkernel::RKernel& kernel, BOrder b_order);

}  // namespace dyn::ptx
