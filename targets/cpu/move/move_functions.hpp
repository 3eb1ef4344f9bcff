#pragma once
// Moves of strided matrices as functions of their own: contractions of all classes call the same
// ones, which belong to the ISA.

#include <cstdint>
#include <vector>

#include "src/rkernel/problem/factors.hpp"
#include "targets/cpu/move/moves.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::cpu {

enum class MoveKind : std::uint8_t { RowCopy, ColumnsAsRows, Panels, GroupPanels, GroupRows };

/// emit_row_copy() or emit_columns_as_rows(), `last` being to_row, or emit_panels(), of f32 alone,
/// or emit_group_panels(), `last` being how many panels there are; or emit_group_rows(). The
/// strides decide when it runs whether columns are contiguous.
using Move = void (*)(const void* data, std::int64_t row_stride, std::int64_t column_stride,
                      std::int64_t rows, std::int64_t columns, float* to, std::int64_t last);

/// `group` is for MoveKind::GroupPanels and GroupRows.
codegen::KernelSource move_source(const codegen::Isa& isa, MoveKind kind, DType dtype,
                                  rkernel::Group group = rkernel::Group::None);

/// Those of all kinds and dtypes.
std::vector<codegen::KernelSource> move_sources(const codegen::Isa& isa);

/// Calls such a function.
void call_move(codegen::Builder& builder, llvm::Value* function, const StridedMatrix& from,
               llvm::Value* rows, llvm::Value* columns, llvm::Value* to, llvm::Value* last);

}  // namespace dyn::cpu
