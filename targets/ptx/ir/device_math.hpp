#pragma once
// The instructions that arithmetic of device IR may use.

#include "graph/ops/scalar_ops.hpp"
#include "targets/llvm/math/math.hpp"

namespace dyn::ptx {

/// Calls of the device operations Exp2 and Reciprocal.
llvm::Value* approximate_exp2(codegen::Builder& builder, llvm::Value* x);
llvm::Value* approximate_reciprocal(codegen::Builder& builder, llvm::Value* x);

inline constexpr codegen::Approximations device_approximations{approximate_exp2,
                                                               approximate_reciprocal};
inline constexpr codegen::MathOptions device_math{.fma = true,
                                                  .scalef = false,
                                                  .lrint = false,
                                                  .extremum = true,
                                                  .approximations = &device_approximations};

/// A function that uses approximations, and its largest error, for whatever results the
/// approximations' bounds allow: in units in the last place of the rounded exact value.
struct ApproximateFunction {
  graph::ScalarOp op;
  double ulps;
};
inline constexpr ApproximateFunction approximate_functions[] = {{graph::ScalarOp::Exp, 3},
                                                                {graph::ScalarOp::Erf, 2},
                                                                {graph::ScalarOp::Tanh, 4},
                                                                {graph::ScalarOp::Sigmoid, 7.5}};

}  // namespace dyn::ptx
