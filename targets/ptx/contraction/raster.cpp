#include "targets/ptx/contraction/raster.hpp"

#include <llvm/IR/Intrinsics.h>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
std::map<int, llvm::Value*> locate_ticket(codegen::Builder& builder, const rkernel::RKernel& kernel,
                                          const GridSizes& sizes, llvm::Value* ticket) {
  const rkernel::Contraction& contraction = *kernel.problem->contraction;
  llvm::Value* rows_of_group = builder.getInt64(choice::raster_rows);
  llvm::Value* blocks = builder.CreateMul(sizes.m_blocks, sizes.n_blocks);
  llvm::Value* block = builder.CreateURem(ticket, blocks);
  llvm::Value* group = builder.CreateMul(sizes.n_blocks, rows_of_group);
  llvm::Value* first_row = builder.CreateMul(builder.CreateUDiv(block, group), rows_of_group);
  llvm::Value* within = builder.CreateURem(block, group);
  llvm::Value* rows = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder.CreateSub(sizes.m_blocks, first_row), rows_of_group);
  std::map<int, llvm::Value*> indices;
  indices[contraction.m] = builder.CreateAdd(first_row, builder.CreateURem(within, rows));
  indices[contraction.n] = builder.CreateUDiv(within, rows);
  llvm::Value* batch = builder.CreateUDiv(ticket, blocks);
  const std::vector<rkernel::Loop>& loops = kernel.layers[grid_layer].loops;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    if (loop->axis == contraction.m || loop->axis == contraction.n) continue;
    indices[loop->axis] = builder.CreateURem(batch, sizes.batch.at(loop->axis));
    batch = builder.CreateUDiv(batch, sizes.batch.at(loop->axis));
  }
  return indices;
}

}  // namespace dyn::ptx
