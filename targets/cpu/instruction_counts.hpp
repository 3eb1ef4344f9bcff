#pragma once
// How many vector instructions an expression takes: the arithmetic of every cost.

#include "src/rkernel/problem.hpp"
#include "targets/llvm/slots.hpp"

namespace dyn::cpu {

/// Vector instructions of one expression for one vector, its arguments not counted; `lane_class` is that of the operand that a Load
/// reads.
double instructions_of(const rkernel::Problem& problem, const rkernel::Expr& expr, codegen::StrideClass lane_class);

}  // namespace dyn::cpu
