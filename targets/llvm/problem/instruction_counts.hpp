#pragma once
// Counts the instructions of expressions and the bytes that a problem moves: every cost is computed
// from these.

#include <span>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/math/math.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::codegen {

/// Vector instructions of one expression for one vector, without its arguments; `lane_class` is
/// that of the operand that a Load reads. `approximations`: those of the machine; functions that
/// use none take as many instructions on every machine.
double instructions_of(const rkernel::Problem& problem, const rkernel::Expr& expr,
                       StrideClass lane_class, const Approximations* approximations = nullptr);

/// Instructions of all expressions and stores of a problem without a contraction, for one vector of
/// points; expressions that do not vary along the lanes are free.
double instructions_of(const rkernel::Problem& problem, const SlotTable& slots,
                       std::span<const StrideClass> lane_classes,
                       const Approximations* approximations = nullptr);

/// Compulsory traffic: each element of each operand once. `ints`: the values of the slots.
/// `only_written`: counts stores alone.
double bytes_of(const rkernel::Problem& problem, const SlotTable& slots,
                std::span<const StrideClass> lane_classes, std::span<const std::int64_t> ints,
                bool only_written = false);

}  // namespace dyn::codegen
