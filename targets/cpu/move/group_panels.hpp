#pragma once
// Groups (rkernel::Group) of factors that arrive with the call, as IR.

#include "src/rkernel/problem/factors.hpp"
#include "targets/cpu/move/moves.hpp"

namespace dyn::cpu {

/// Panels of the ISA's width of words of four bytes: word (group, column) is to[(panel * groups +
/// group) * width + lane] with column = panel * width + lane, and holds the elements (group * size
/// + i, column) of `from`, widened to those of `group`, i = 0 lowest; 0 from row `rows` on. Words
/// of columns from `columns` on are any. `from` is of i8, or of the group's own elements.
void emit_group_panels(codegen::Builder& builder, const codegen::Isa& isa, rkernel::Group group,
                       const StridedMatrix& from, llvm::Value* rows, llvm::Value* panels,
                       llvm::Value* columns, llvm::Value* to);

/// Rows of a left side as words: word to[row * to_row + group] holds the elements (row, group *
/// size + i) of `from`, which has unit columns and the group's own elements; 0 from column
/// `columns` on.
void emit_group_rows(codegen::Builder& builder, const codegen::Isa& isa, rkernel::Group group,
                     const StridedMatrix& from, llvm::Value* rows, llvm::Value* columns,
                     llvm::Value* to, llvm::Value* to_row);

}  // namespace dyn::cpu
