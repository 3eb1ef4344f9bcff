// Threads that multiply with fused multiply-adds: each has thread_m x thread_n outputs in
// registers, and reads both tiles as vectors.

#include <numeric>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/fma_tile.hpp"
#include "targets/ptx/tile/leaf.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
namespace {

using choice::warp_lanes;
using codegen::Builder;
using Values = std::vector<llvm::Value*>;

constexpr int float_bytes = 4;

/// A warp's lanes form a grid over its tile. The rows of one thread are a whole grid apart, so that
/// lanes read neighbouring rows of A at once; its columns come in vectors that are a whole grid
/// apart, so that lanes read neighbouring vectors of B at once.
class CudaCoreLeaf final : public Leaf {
 public:
  explicit CudaCoreLeaf(const rkernel::RKernel& kernel)
      : tile_(tile_of(kernel)),
        lane_rows_(tile_.warp_m / tile_.thread_m),
        lane_columns_(tile_.warp_n / tile_.thread_n),
        vector_(std::gcd(tile_.thread_n, vector_floats)) {
    if (tile_.block_k % vector_floats == 0 && tile_.block_n % vector_floats == 0) return;
    throw Error(ErrorKind::internal, "CUDA cores cannot multiply in tiles of " + tile_.to_string() +
                                         ": rows of shared memory are whole vectors of 4");
  }

  SharedTile a_tile() const override {
    return {tile_.block_m, tile_.block_k * float_bytes, chunk_bytes, false};
  }
  SharedTile b_tile() const override {
    return {tile_.block_k, tile_.block_n * float_bytes, chunk_bytes, false};
  }

  void prepare(Builder& builder) override {
    llvm::Value* thread = call(builder, Op::Thread);
    llvm::Value* lane = builder.CreateURem(thread, number(builder, warp_lanes));
    llvm::Value* warp = builder.CreateUDiv(thread, number(builder, warp_lanes));
    const int warp_columns = tile_.block_n / tile_.warp_n;
    row_ = place_of(builder, warp, lane, warp_columns, lane_columns_, tile_.warp_m, 1, true);
    column_ =
        place_of(builder, warp, lane, warp_columns, lane_columns_, tile_.warp_n, vector_, false);
  }

  Values zeros(Builder& builder) override {
    return Values(static_cast<std::size_t>(tile_.thread_m * tile_.thread_n),
                  llvm::ConstantFP::get(builder.getFloatTy(), 0));
  }

  Values multiply(Builder& builder, llvm::Value* a, llvm::Value* b,
                  std::span<llvm::Value* const> accumulators) override {
    a = at_byte(builder, a, builder.CreateMul(row_, number(builder, a_tile().stride_bytes())));
    b = at_byte(builder, b, builder.CreateMul(column_, number(builder, float_bytes)));
    return outputs().multiply(builder, a, b, accumulators);
  }

  Place place(Builder& builder, std::size_t index) const override {
    const int i = static_cast<int>(index) / tile_.thread_n,
              j = static_cast<int>(index) % tile_.thread_n;
    return {builder.CreateAdd(row_, number(builder, i * lane_rows_)),
            builder.CreateAdd(column_, number(builder, outputs().column_step(j)))};
  }
  int side_by_side() const override { return vector_; }

 private:
  /// The thread's first row (or column) within the block: `columns_of_...` are those of the grids
  /// of warps and of lanes.
  static llvm::Value* place_of(Builder& builder, llvm::Value* warp, llvm::Value* lane,
                               int columns_of_warps, int columns_of_lanes, int warp_extent,
                               int lane_extent, bool rows) {
    const auto along = [&](llvm::Value* index, int columns) {
      return rows ? builder.CreateUDiv(index, number(builder, columns))
                  : builder.CreateURem(index, number(builder, columns));
    };
    llvm::Value* of_warp =
        builder.CreateMul(along(warp, columns_of_warps), number(builder, warp_extent));
    return builder.CreateAdd(
        of_warp, builder.CreateMul(along(lane, columns_of_lanes), number(builder, lane_extent)));
  }

  FmaTile outputs() const {
    return {.rows = tile_.thread_m,
            .columns = tile_.thread_n,
            .row_step = lane_rows_,
            .lane_columns = lane_columns_,
            .vector = vector_,
            .depth = tile_.block_k,
            .a_row_bytes = a_tile().stride_bytes(),
            .b_row_bytes = b_tile().stride_bytes()};
  }

  const choice::GpuTile tile_;
  const int lane_rows_, lane_columns_;
  const int vector_;  ///< columns in one access to B
  llvm::Value *row_ = nullptr, *column_ = nullptr;
};

}  // namespace

std::unique_ptr<Leaf> make_cuda_core_leaf(const rkernel::RKernel& kernel) {
  return std::make_unique<CudaCoreLeaf>(kernel);
}

}  // namespace dyn::ptx
