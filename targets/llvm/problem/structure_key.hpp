#pragma once
// The part of a shape class that a problem's structure gives: problems with equal keys share their
// generated code.

#include <span>
#include <string>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::codegen {

/// Operators, dtypes, constants, operands (which strides, offsets and bounds are provably 0),
/// stores and axes; no names, no dims. Together with the lane classes and the ISA it decides the
/// code.
std::string structure_key(const rkernel::Problem& problem, const SlotTable& slots);

/// "01?1": one letter for each operand.
std::string class_letters(std::span<const StrideClass> classes);

}  // namespace dyn::codegen
