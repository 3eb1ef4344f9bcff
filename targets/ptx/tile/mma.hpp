#pragma once
// The instruction of tensor cores, and the order of its accumulators.

#include <span>
#include <vector>

#include "dyn/dtype.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/ptx/ir/op.hpp"

namespace dyn::ptx {

/// Accumulators of one lane in an instruction's tile: rows g and g + 8, at columns 2 * t and 2 * t
/// + 1 each, for lane 4 * g + t.
inline constexpr int mma_accumulators = 4;
/// Registers of one lane in an instruction's tile of A and of B.
inline constexpr int mma_a_registers = 4, mma_b_registers = 2;
inline constexpr int lanes_of_row = 4, lower_rows = 8;

/// Throws Error(internal) for dtypes that tensor cores do not multiply, or not by each other. Bytes
/// may have a sign in either factor.
Op mma_instruction(DType a, DType b);
inline Op mma_instruction(DType operands) { return mma_instruction(operands, operands); }

/// Adds the products of one k step: all of `rows` with all of `columns`, row by row of instruction
/// tiles.
void multiply_fragments(codegen::Builder& builder, Op instruction,
                        const std::vector<std::vector<llvm::Value*>>& rows,
                        const std::vector<std::vector<llvm::Value*>>& columns,
                        std::span<llvm::Value*> sums);

}  // namespace dyn::ptx
