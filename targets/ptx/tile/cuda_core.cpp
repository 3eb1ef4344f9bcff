// Threads that multiply with fused multiply-adds: each has thread_m x thread_n outputs in
// registers, and reads both tiles as vectors.

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>

#include "dyn/error.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/leaf.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
namespace {

using choice::warp_lanes;
using codegen::Builder;
using Values = std::vector<llvm::Value*>;

constexpr int float_bytes = 4;
/// Floats of a 128-bit access, the widest that a thread can make.
constexpr int vector_floats = chunk_bytes / float_bytes;
/// Multiply-adds that one thread executes without a loop: enough to hide the loop and the latency
/// of shared memory, few enough for the instruction cache.
constexpr int straight_multiplies = 256;

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
    const int straight = std::clamp(
        straight_multiplies / (tile_.thread_m * tile_.thread_n) / vector_floats * vector_floats,
        vector_floats, tile_.block_k);
    Values sums(accumulators.begin(), accumulators.end());
    a = at_byte(builder, a, builder.CreateMul(row_, number(builder, a_tile().stride_bytes())));
    b = at_byte(builder, b, builder.CreateMul(column_, number(builder, float_bytes)));
    if (tile_.block_k % straight != 0 || straight == tile_.block_k) {
      multiply_straight(builder, a, b, number(builder, 0), tile_.block_k, sums);
      return sums;
    }
    codegen::CountedLoop steps(builder, number(builder, 0), number(builder, tile_.block_k),
                               number(builder, straight), "multiply", sums);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = steps.carried(i);
    multiply_straight(builder, a, b, steps.index(), straight, sums);
    return steps.close(sums);
  }

  Place place(Builder& builder, std::size_t index) const override {
    const int i = static_cast<int>(index) / tile_.thread_n,
              j = static_cast<int>(index) % tile_.thread_n;
    return {builder.CreateAdd(row_, number(builder, row_step(i))),
            builder.CreateAdd(column_, number(builder, column_step(j)))};
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

  int row_step(int i) const { return i * lane_rows_; }
  int column_step(int j) const { return j / vector_ * vector_ * lane_columns_ + j % vector_; }

  /// `width` floats at a constant byte offset, one value each.
  static Values load(Builder& builder, llvm::Value* base, int bytes, int width) {
    llvm::Type* type = codegen::lanes_of(builder.getFloatTy(), width);
    llvm::Value* loaded =
        builder.CreateAlignedLoad(type, at_byte(builder, base, number(builder, bytes)),
                                  llvm::Align(static_cast<std::uint64_t>(width) * float_bytes));
    Values elements;
    for (int i = 0; i < width; ++i)
      elements.push_back(width == 1
                             ? loaded
                             : builder.CreateExtractElement(loaded, static_cast<std::uint64_t>(i)));
    return elements;
  }

  // K ascends, and each output has one accumulator: the bits are those of a plain loop of fused
  // multiply-adds.
  void multiply_straight(Builder& builder, llvm::Value* a, llvm::Value* b, llvm::Value* k,
                         int depth, Values& sums) {
    a = at_byte(builder, a, builder.CreateMul(k, number(builder, float_bytes)));
    b = at_byte(builder, b, builder.CreateMul(k, number(builder, b_tile().stride_bytes())));
    for (int first = 0; first < depth; first += vector_floats) {
      std::vector<Values> rows;
      for (int i = 0; i < tile_.thread_m; ++i)
        rows.push_back(load(builder, a, row_step(i) * a_tile().stride_bytes() + first * float_bytes,
                            vector_floats));
      for (int step = 0; step < vector_floats; ++step)
        multiply_step(builder, b, first + step, rows, static_cast<std::size_t>(step), sums);
    }
  }

  void multiply_step(Builder& builder, llvm::Value* b, int k, const std::vector<Values>& rows,
                     std::size_t step, Values& sums) {
    Values columns;
    for (int j = 0; j < tile_.thread_n; j += vector_) {
      const Values loaded =
          load(builder, b, k * b_tile().stride_bytes() + column_step(j) * float_bytes, vector_);
      columns.insert(columns.end(), loaded.begin(), loaded.end());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        llvm::Value*& sum = sums[i * columns.size() + j];
        sum = builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getFloatTy()},
                                      {rows[i][step], columns[j], sum});
      }
    }
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
