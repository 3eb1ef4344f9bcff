#pragma once
// Converts the 16-bit floats, which exist in memory only, to f32 and back by integer arithmetic, so
// that every machine and every width gives the same bits.

#include "graph/ir/scalars.hpp"
#include "targets/llvm/code/types.hpp"

namespace dyn::codegen {

using graph::is_half;

/// i16 values that are f16 or bf16 numbers, as float. Exact; NaN stays NaN.
llvm::Value* half_to_float(Builder& builder, DType dtype, llvm::Value* bits);

/// float values as f16 or bf16 numbers, i16: to nearest, ties to even; numbers that are too large
/// become infinity, NaN a quiet NaN.
llvm::Value* float_to_half(Builder& builder, DType dtype, llvm::Value* value);

/// float values as the nearest f16 or bf16 numbers, as float: the result of float_to_half and then
/// half_to_float.
llvm::Value* nearest_half(Builder& builder, DType dtype, llvm::Value* value);

}  // namespace dyn::codegen
