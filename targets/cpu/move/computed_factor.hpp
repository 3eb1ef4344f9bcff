#pragma once
// Factors of a contraction that are computed where they are moved into scratch (prologues): a
// function of its own for each problem, behind the same pointers as plain moves.

#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// A multiply-add for each of so many columns hides one operator on an element of the left side,
/// its copy to scratch included.
inline constexpr std::int64_t columns_of_prologue = 32;

/// Rows of A, or panels of B (emit_row_copy(), emit_panels()).
enum class Factor : std::uint8_t { Left, Right };

/// Computes a block of the factor (Contraction::a_value, b_value). The source refers to all of
/// them.
codegen::KernelSource computed_factor_source(const rkernel::Problem& problem, Factor factor,
                                             const codegen::Isa& isa,
                                             const codegen::SlotTable& slots);

/// Vector instructions for one vector of the factor's elements; 0: it is not computed.
double operations_of_factor(const rkernel::Problem& problem, Factor factor);

/// Each operand's along an axis: what strides are in some shapes only decides nothing.
std::vector<codegen::StrideClass> classes_along(const rkernel::Problem& problem, int axis);

/// A block of a factor: A's rows and steps of K, or B's steps of K and columns.
struct FactorBlock {
  llvm::Value *first_row, *rows, *first_column, *columns;
  llvm::Value *to, *last;  ///< in scratch; elements from row to row, or how many panels
};

/// Calls such a function, with an index for each batch axis of the problem, in their order.
void call_computed_factor(codegen::Builder& builder, llvm::Value* function,
                          llvm::Value* kernel_args, const FactorBlock& block,
                          std::span<llvm::Value* const> batch);

}  // namespace dyn::cpu
