#pragma once
// Evaluates a Problem by plain loops: the oracle of lowering and of code generation.

#include <cstdint>
#include <map>
#include <span>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::testing {

/// Runs `problem` with symbols[i] for symbol i of the module's DimTable, on dense buffers by base
/// value. Floats are computed in double and rounded when they are stored (once, also to f16 and
/// bf16); integers wrap at their dtype's width. A contraction's operands are read as Form::Strided
/// whatever their form says. Throws Error(user) where a gathered index is out of range.
void interpret(const rkernel::Problem& problem, std::span<const std::int64_t> symbols,
               const std::map<graph::ValueId, void*>& buffers);

}  // namespace dyn::testing
