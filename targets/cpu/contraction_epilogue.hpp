#pragma once
// What follows the sums of a contraction: the group's expressions and stores, from a tile in scratch, as IR.

#include <vector>

#include "targets/cpu/isa.hpp"
#include "targets/llvm/expr_compiler.hpp"

namespace dyn::cpu {

/// A tile of sums: rows of outputs, each contiguous in scratch along the lane axis.
struct TileOutputs {
  int row_axis, lane_axis;
  llvm::Value *first_row, *rows, *first_lane, *lanes;
  llvm::Value *tile, *tile_row;  ///< f32, and elements from row to row
};

/// Emits where the builder of the compiler stands; indices of batch axes have been set.
class ContractionEpilogue {
 public:
  ContractionEpilogue(codegen::Builder& builder, const rkernel::Problem& problem, const Isa& isa, codegen::Operands& operands,
                      codegen::ExprCompiler& compiler);

  void emit(const TileOutputs& outputs);

 private:
  void emit_vector(const TileOutputs& outputs, llvm::Value* tile_row, llvm::Value* column, llvm::Value* mask);

  codegen::Builder& builder_;
  const rkernel::Problem& problem_;
  const Isa& isa_;
  codegen::Operands& operands_;
  codegen::ExprCompiler& compiler_;
  std::vector<int> roots_;  ///< expressions that are stored
};

}  // namespace dyn::cpu
