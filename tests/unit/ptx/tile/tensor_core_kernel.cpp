#include "tests/unit/ptx/tile/tensor_core_kernel.hpp"

#include <fmt/format.h>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/tile/tree.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

namespace dyn::test {
namespace {

using choice::GpuTile;
using codegen::Builder;
using ptx::BOrder;
using ptx::Op;
using ptx::SharedTile;

llvm::ConstantInt* number(Builder& builder, int value) {
  return builder.getInt32(static_cast<std::uint32_t>(value));
}

/// Copies rows of 16-byte chunks from global memory, `row_bytes` apart, to a tile.
struct TileCopy {
  SharedTile tile;
  llvm::Value *from, *to;
  llvm::Value* row_bytes;

  void emit(Builder& builder, llvm::Value* thread, int threads) const {
    codegen::CountedLoop chunks(builder, thread, number(builder, tile.rows * tile.chunks()),
                                number(builder, threads), "copy");
    llvm::Value* row = builder.CreateUDiv(chunks.index(), number(builder, tile.chunks()));
    llvm::Value* chunk = builder.CreateURem(chunks.index(), number(builder, tile.chunks()));
    llvm::Value* source =
        builder.CreateAdd(builder.CreateMul(row, row_bytes),
                          builder.CreateMul(chunk, number(builder, ptx::chunk_bytes)));
    llvm::Type* type = llvm::FixedVectorType::get(builder.getInt32Ty(), 4);
    llvm::Value* value = builder.CreateAlignedLoad(
        type, builder.CreateGEP(builder.getInt8Ty(), from, source), llvm::Align(16));
    builder.CreateAlignedStore(
        value, builder.CreateGEP(builder.getInt8Ty(), to, tile.chunk_offset(builder, row, chunk)),
        llvm::Align(16));
    chunks.close();
  }
};

void store_accumulators(const KernelBody& body, const GpuTile& tile, const ptx::Leaf& leaf,
                        llvm::Value* thread, std::span<llvm::Value* const> sums) {
  Builder& builder = body.builder;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const ptx::Leaf::Place place = leaf.place(builder, i);
    llvm::Value* output = builder.CreateAdd(
        builder.CreateMul(place.row, number(builder, tile.block_n)), place.column);
    llvm::Value* index =
        builder.CreateAdd(builder.CreateMul(thread, number(builder, static_cast<int>(sums.size()))),
                          number(builder, static_cast<int>(i)));
    builder.CreateAlignedStore(
        sums[i], builder.CreateGEP(builder.getFloatTy(), body.operand(2), output), llvm::Align(4));
    builder.CreateAlignedStore(
        output, builder.CreateGEP(builder.getInt32Ty(), body.operand(3), index), llvm::Align(4));
  }
}

void multiply_blocks(const KernelBody& body, const GpuTile& tile, BOrder order, int blocks_k) {
  Builder& builder = body.builder;
  const TensorCoreTree tree(tile);
  const auto leaf = ptx::make_tensor_core_leaf(tree.kernel, order);
  const int size = static_cast<int>(size_of(tile.operands)), k_bytes = tile.block_k * size;
  llvm::Value* thread = call(builder, Op::Thread);
  llvm::Value* a = call(builder, Op::Shared);
  llvm::Value* b =
      builder.CreateGEP(builder.getInt8Ty(), a, number(builder, leaf->a_tile().bytes()));
  llvm::Value *global_a = body.operand(0), *global_b = body.operand(1);
  leaf->prepare(builder);
  codegen::CountedLoop blocks(builder, number(builder, 0), number(builder, blocks_k),
                              number(builder, 1), "k", leaf->zeros(builder));
  std::vector<llvm::Value*> sums;
  for (std::size_t i = 0; i < leaf->zeros(builder).size(); ++i) sums.push_back(blocks.carried(i));
  const auto from = [&](llvm::Value* operand, int bytes) {
    return builder.CreateGEP(builder.getInt8Ty(), operand,
                             builder.CreateMul(blocks.index(), number(builder, bytes)));
  };
  call(builder, Op::Barrier);
  const bool along_n = order == BOrder::RowsAlongN;
  const int b_row_bytes = along_n ? tile.block_n * size : k_bytes * blocks_k;
  const int b_block_bytes = along_n ? tile.block_k * b_row_bytes : k_bytes;
  TileCopy{leaf->a_tile(), from(global_a, k_bytes), a, number(builder, k_bytes * blocks_k)}.emit(
      builder, thread, tile.threads());
  TileCopy{leaf->b_tile(), from(global_b, b_block_bytes), b, number(builder, b_row_bytes)}.emit(
      builder, thread, tile.threads());
  call(builder, Op::Barrier);
  sums = blocks.close(leaf->multiply(builder, a, b, sums));
  store_accumulators(body, tile, *leaf, thread, sums);
}

}  // namespace

GpuTile tensor_core_tile(DType operands, int warp_m, int warp_n, int block_m, int block_n,
                         int block_k, int stages) {
  GpuTile tile;
  tile.engine = choice::Engine::TensorCores;
  tile.operands = operands;
  tile.thread_m = 16, tile.thread_n = 8;
  tile.warp_m = warp_m, tile.warp_n = warp_n;
  tile.block_m = block_m, tile.block_n = block_n, tile.block_k = block_k;
  tile.stages = stages;
  return tile;
}

TensorCoreTree::TensorCoreTree(const GpuTile& tile, DType a, DType b) {
  for (const char* axis : {"m", "n", "k"})
    problem.axes.push_back(
        {axis, {}, *axis == 'k' ? rkernel::AxisKind::Reduction : rkernel::AxisKind::Parallel});
  for (const DType factor : {a, b}) problem.operands.emplace_back().dtype = factor;
  problem.contraction = rkernel::Contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
  kernel = ptx::contraction_tree(problem, tile, {});
}

std::unique_ptr<llvm::Module> tensor_core_kernel(llvm::LLVMContext& context, const GpuTile& tile,
                                                 BOrder order, int blocks_k) {
  const TensorCoreTree tree(tile);
  const auto leaf = ptx::make_tensor_core_leaf(tree.kernel, order);
  return device_kernel(
      context, [&](const KernelBody& body) { multiply_blocks(body, tile, order, blocks_k); },
      tile.threads(), leaf->a_tile().bytes() + leaf->b_tile().bytes());
}

std::string name_of(const GpuTile& tile, BOrder order) {
  return fmt::format("{}, rows along {}", tile.to_string(),
                     order == BOrder::RowsAlongN ? "n" : "k");
}

GpuTile swapped(GpuTile tile) {
  std::swap(tile.thread_m, tile.thread_n);
  return tile;
}

std::vector<GpuTile> tensor_core_tiles() {
  std::vector<GpuTile> tiles;
  for (const DType operands : {DType::bf16, DType::f16, DType::f32, DType::i8}) {
    const int k = 2 * choice::mma_depth(operands);
    tiles.push_back(tensor_core_tile(operands, 16, 64, 16, 64, k));
    tiles.push_back(tensor_core_tile(operands, 16, 16, 32, 48, k / 2));
    tiles.push_back(tensor_core_tile(operands, 16, 16, 32, 32, k));
    tiles.push_back(tensor_core_tile(operands, 32, 32, 64, 64, k));
    tiles.push_back(tensor_core_tile(operands, 32, 64, 96, 64, 3 * k / 2));
    tiles.push_back(tensor_core_tile(operands, 64, 32, 64, 128, 2 * k));
    tiles.push_back(tensor_core_tile(operands, 64, 32, 128, 128, 2 * k));
    tiles.push_back(tensor_core_tile(operands, 64, 64, 128, 64, k));
    tiles.push_back(swapped(tensor_core_tile(operands, 8, 16, 8, 48, k)));
    tiles.push_back(swapped(tensor_core_tile(operands, 8, 64, 16, 64, 2 * k)));
    tiles.push_back(swapped(tensor_core_tile(operands, 24, 32, 48, 64, k)));
  }
  return tiles;
}

}  // namespace dyn::test
