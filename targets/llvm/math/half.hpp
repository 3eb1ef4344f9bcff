#pragma once
// Converts the narrow floats, which exist in memory only, to f32 and back: by integer arithmetic,
// so that every machine and every width gives the same bits, or by operations that give these, but
// for the bits of a NaN.

#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"
#include "targets/llvm/code/types.hpp"

namespace dyn::codegen {

using graph::is_half;

/// i16 values that are f16 or bf16 numbers, or i8 codes of another narrow float, as float. Exact;
/// NaN stays NaN.
llvm::Value* half_to_float(Builder& builder, DType dtype, llvm::Value* bits);

/// The name of the attribute of functions whose code may use more than the machine it is made for,
/// and what allows AVX512-BF16 there.
inline constexpr const char target_features[] = "target-features";
inline constexpr const char bfloat_feature[] = "avx512bf16";

/// The name of the attribute of functions whose machine converts f16 and bf16 by operations. Its
/// value is how the names of these begin: "f32.f16" behind it makes a float of an i16, exactly;
/// "rn.f16.f32" and "rn.bf16.f32" an i16 of a float, to nearest, ties to even. They are pure.
inline constexpr const char conversions_attribute[] = "dyn.conversions";

/// float values as codes of a narrow float, i16 or i8, as graph::code_of_float gives them; but
/// vectors become bf16 by the instruction where the function may use it, which makes subnormal
/// numbers 0.
llvm::Value* float_to_half(Builder& builder, DType dtype, llvm::Value* value);

/// float values as the nearest f16 or bf16 numbers, as float: the result of float_to_half and then
/// half_to_float.
llvm::Value* nearest_half(Builder& builder, DType dtype, llvm::Value* value);

}  // namespace dyn::codegen
