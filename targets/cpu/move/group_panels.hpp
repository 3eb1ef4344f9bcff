#pragma once
// Panels of groups (rkernel::Group), as IR, of a right side that arrives with the call.

#include "src/rkernel/problem/factors.hpp"
#include "targets/cpu/move/moves.hpp"

namespace dyn::cpu {

/// Panels of the ISA's width, each `groups` deep, of words of four bytes: word (group, column) is
/// to[(panel * groups + group) * width + lane] with column = panel * width + lane, and holds the
/// elements (group * size + i, column) of `from`, widened to those of `group`, i = 0 lowest. Words
/// of columns from `columns` on are any. `from` is of i8, or of the group's own elements; its rows
/// are single elements of K, of which all of each group exist.
void emit_group_panels(codegen::Builder& builder, const codegen::Isa& isa, rkernel::Group group,
                       const StridedMatrix& from, llvm::Value* groups, llvm::Value* panels,
                       llvm::Value* columns, llvm::Value* to);

}  // namespace dyn::cpu
