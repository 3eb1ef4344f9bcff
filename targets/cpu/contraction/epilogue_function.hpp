#pragma once
// A function of its own runs what follows the sums of a contraction: contractions of one layout
// share all other code.

#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/cpu/tile/epilogue.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// A tile of sums in scratch through the group's expressions to memory. `problem`: as it came, with
/// lanes along n; `lanes`: of each operand. The source refers to all of them.
codegen::KernelSource epilogue_source(const rkernel::Problem& problem, const codegen::Isa& isa,
                                      const codegen::SlotTable& slots,
                                      const std::vector<codegen::StrideClass>& lanes);

/// Calls such a function: with the kernel's arguments, and an index for each batch axis of the
/// problem, in their order. The axes of `outputs` are the problem's own.
void call_epilogue(codegen::Builder& builder, llvm::Value* function, llvm::Value* kernel_args,
                   const TileOutputs& outputs, std::span<llvm::Value* const> batch);

}  // namespace dyn::cpu
