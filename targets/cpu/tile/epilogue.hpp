#pragma once
// What follows the sums of a contraction: the group's expressions and stores, from a tile in
// scratch or in registers, as IR.

#include <span>
#include <vector>

#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"

namespace dyn::cpu {

/// A tile of sums: rows of outputs, each contiguous in scratch along the lane axis.
struct TileOutputs {
  int row_axis, lane_axis;
  llvm::Value *first_row, *rows, *first_lane, *lanes;
  llvm::Value *tile, *tile_row;  ///< of Factors::sums(), and elements from row to row; those of
                                 ///< several right sides share a row in equal parts
};

/// A tile of sums in registers, with lanes along n.
struct TileRegisters {
  std::span<llvm::Value* const> sums;  ///< row by row
  int vectors;                         ///< vectors of one row
  llvm::Value *first_row, *first_column;
  std::span<llvm::Value* const> masks;  ///< which lanes exist in each vector of a row; empty: all
};

/// Emits where the builder of the compiler stands; indices of batch axes have been set.
class ContractionEpilogue {
 public:
  ContractionEpilogue(codegen::Builder& builder, const rkernel::Problem& problem,
                      const codegen::Isa& isa, codegen::Operands& operands,
                      codegen::ExprCompiler& compiler);

  void emit(const TileOutputs& outputs);
  void emit_registers(const TileRegisters& tile);

 private:
  void emit_vector(const TileOutputs& outputs, llvm::Value* tile_row, llvm::Value* column,
                   llvm::Value* mask);
  void store_vector(std::span<llvm::Value* const> sums);

  codegen::Builder& builder_;
  const rkernel::Problem& problem_;
  const codegen::Isa& isa_;
  codegen::Operands& operands_;
  codegen::ExprCompiler& compiler_;
  std::vector<int> roots_;  ///< expressions that are stored
};

}  // namespace dyn::cpu
