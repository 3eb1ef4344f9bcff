#pragma once
// The instructions that arithmetic of device IR may use.

#include "graph/ops/scalar_ops.hpp"
#include "targets/llvm/math/math.hpp"

namespace dyn::ptx {

/// Calls of the device operations Exp2 and Reciprocal.
llvm::Value* approximate_exp2(codegen::Builder& builder, llvm::Value* x);
llvm::Value* approximate_reciprocal(codegen::Builder& builder, llvm::Value* x);

inline constexpr codegen::ApproximateFunction approximate_functions[] = {
    {graph::ScalarOp::Exp, 3, 9},
    {graph::ScalarOp::Erf, 2, 22},
    {graph::ScalarOp::Tanh, 4, 16},
    {graph::ScalarOp::Sigmoid, 7.5, 13}};
inline constexpr codegen::Approximations device_approximations{
    approximate_exp2, approximate_reciprocal, approximate_functions};
inline constexpr codegen::MathOptions device_math{.fma = true,
                                                  .scalef = false,
                                                  .lrint = false,
                                                  .extremum = true,
                                                  .approximations = &device_approximations};

}  // namespace dyn::ptx
