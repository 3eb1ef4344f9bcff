#pragma once
// Moves of a contraction's operands into scratch, as IR.

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Element (row, column) lies at data + row * row_stride + column * column_stride; `unit`:
/// column_stride is 1.
struct StridedMatrix {
  llvm::Value *data, *row_stride, *column_stride;
  bool unit;
  DType dtype = DType::f32;  ///< of the elements; narrower ones are a panel of weights, whose rows
                             ///< exist up to a whole vector
};

/// to[row * to_row + column] = from(row, column): rows of A that neither share cache sets nor have
/// strides along K.
void emit_row_copy(codegen::Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                   llvm::Value* rows, llvm::Value* columns, llvm::Value* to, llvm::Value* to_row);

/// to[column * to_row + row] = from(row, column): a few columns, at most a vector's length of them,
/// as rows. With `unit`, whole squares are written, as emit_transposition does.
void emit_columns_as_rows(codegen::Builder& builder, const codegen::Isa& isa,
                          const StridedMatrix& from, llvm::Value* rows, llvm::Value* columns,
                          llvm::Value* to, llvm::Value* to_row);

/// Panels of the ISA's width, each `rows` deep: to[(panel * rows + row) * width + lane] = from(row,
/// panel * width + lane), and 0 from column `columns` on.
void emit_panels(codegen::Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                 llvm::Value* rows, llvm::Value* panels, llvm::Value* columns, llvm::Value* to);

/// A matrix whose columns are contiguous, and a copy whose rows are.
struct Transposition {
  llvm::Value* from;  ///< element (i, j) at i + j * from_stride
  llvm::Value* from_stride;
  llvm::Value *rows, *columns;  ///< that exist; others read as zero
  llvm::Value* to;              ///< element (i, j) at i * to_stride + j
  llvm::Value* to_stride;
  DType dtype = DType::f32;  ///< of `from`; narrower than f32: elements up to a multiple of a
                             ///< vector's length exist in each column
};

/// Writes whole blocks: up to a vector's length less one of rows beyond the last, and columns up to
/// a multiple of it; at least `least_columns` of them.
void emit_transposition(codegen::Builder& builder, const codegen::Isa& isa,
                        const Transposition& matrix, llvm::Value* least_columns);

}  // namespace dyn::cpu
