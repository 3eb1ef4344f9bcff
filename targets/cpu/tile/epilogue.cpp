#include "targets/cpu/tile/epilogue.hpp"

#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::axis_bit;
using codegen::Conditional;
using codegen::CountedLoop;

ContractionEpilogue::ContractionEpilogue(codegen::Builder& builder, const rkernel::Problem& problem,
                                         const codegen::Isa& isa, codegen::Operands& operands,
                                         codegen::ExprCompiler& compiler)
    : builder_(builder), problem_(problem), isa_(isa), operands_(operands), compiler_(compiler) {
  for (const rkernel::Store& store : problem.stores) roots_.push_back(store.expr);
}

void ContractionEpilogue::emit(const TileOutputs& outputs) {
  const codegen::AxisSet rows_axis = axis_bit(outputs.row_axis),
                         lanes_axis = axis_bit(outputs.lane_axis);
  llvm::Value* width = builder_.getInt64(static_cast<std::uint64_t>(isa_.f32_lanes));
  llvm::Value* none = builder_.getInt64(0);
  llvm::Value* whole = builder_.CreateAnd(outputs.lanes, builder_.CreateNeg(width));
  compiler_.enter(rows_axis | lanes_axis, roots_);
  CountedLoop rows(builder_, none, outputs.rows, builder_.getInt64(1), "epilogue_row");
  operands_.set_index(outputs.row_axis, builder_.CreateAdd(outputs.first_row, rows.index()));
  llvm::Value* tile_row = builder_.CreateGEP(builder_.getFloatTy(), outputs.tile,
                                             builder_.CreateMul(rows.index(), outputs.tile_row));
  compiler_.enter(lanes_axis, roots_);
  CountedLoop vectors(builder_, none, whole, width, "epilogue_vector");
  emit_vector(outputs, tile_row, vectors.index(), nullptr);
  vectors.close();
  llvm::Value* rest = builder_.CreateSub(outputs.lanes, whole);
  Conditional tail(builder_, builder_.CreateICmpSGT(rest, none), "epilogue_tail");
  llvm::Value* lanes = codegen::iota(builder_, builder_.getInt64Ty(), isa_.f32_lanes);
  emit_vector(outputs, tile_row, whole,
              builder_.CreateICmpSLT(lanes, codegen::broadcast(builder_, rest, isa_.f32_lanes)));
  tail.close();
  compiler_.leave();
  rows.close();
  compiler_.leave();
}

void ContractionEpilogue::emit_registers(const TileRegisters& tile) {
  const rkernel::Contraction& contraction = *problem_.contraction;
  const int rows = static_cast<int>(tile.sums.size()) / tile.vectors;
  for (int vector = 0; vector < tile.vectors; ++vector) {
    operands_.set_mask(tile.masks.empty() ? nullptr : tile.masks[static_cast<std::size_t>(vector)]);
    llvm::Value* column = builder_.getInt64(static_cast<std::uint64_t>(vector * isa_.f32_lanes));
    operands_.set_index(contraction.n, builder_.CreateAdd(tile.first_column, column));
    compiler_.enter(axis_bit(contraction.m), roots_);
    for (int row = 0; row < rows; ++row) {
      // A block of its own, as instructions are ordered within blocks: sums leave their registers
      // one after the other, and nothing is spilled.
      llvm::BasicBlock* next = llvm::BasicBlock::Create(builder_.getContext(), "row",
                                                        builder_.GetInsertBlock()->getParent());
      builder_.CreateBr(next);
      builder_.SetInsertPoint(next);
      operands_.set_index(
          contraction.m,
          builder_.CreateAdd(tile.first_row, builder_.getInt64(static_cast<std::uint64_t>(row))));
      store_vector(tile.sums.subspan(static_cast<std::size_t>(row * tile.vectors + vector), 1));
    }
    compiler_.leave();
  }
  operands_.set_mask(nullptr);
}

void ContractionEpilogue::emit_vector(const TileOutputs& outputs, llvm::Value* tile_row,
                                      llvm::Value* column, llvm::Value* mask) {
  operands_.set_index(outputs.lane_axis, builder_.CreateAdd(outputs.first_lane, column));
  operands_.set_mask(mask);
  const DType sums = rkernel::factors_of(problem_).sums();
  auto* vector = llvm::FixedVectorType::get(codegen::memory_type(builder_.getContext(), sums),
                                            static_cast<unsigned>(isa_.f32_lanes));
  const std::size_t count = problem_.contraction->others.size() + 1;
  std::vector<llvm::Value*> sums_of_sides;
  for (std::size_t side = 0; side < count; ++side) {
    llvm::Value* before = builder_.CreateMul(
        builder_.CreateUDiv(outputs.tile_row, builder_.getInt64(count)), builder_.getInt64(side));
    llvm::Value* address =
        builder_.CreateGEP(builder_.getFloatTy(), tile_row, builder_.CreateAdd(column, before));
    sums_of_sides.push_back(builder_.CreateAlignedLoad(vector, address, llvm::Align(4)));
  }
  store_vector(sums_of_sides);
  operands_.set_mask(nullptr);
}

// At the current indices, with the current mask.
void ContractionEpilogue::store_vector(std::span<llvm::Value* const> sums) {
  compiler_.enter(0);
  compiler_.bind_accumulators(sums);
  for (const rkernel::Store& store : problem_.stores) compiler_.store(store);
  compiler_.leave();
}

}  // namespace dyn::cpu
