#pragma once
// Problems that one kernel computes side by side (horizontal fusion).

#include <cstddef>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::rkernel {

/// One of a problem's parts, as a problem of its own.
Problem part_of(const Problem& problem, std::size_t index);

/// Problems without contraction, attention, recurrence and host call, of which no two depend on
/// each other, as parts of one.
Problem together(std::vector<Problem> problems);

/// True where one of them writes a buffer that the other touches.
bool depend(const Problem& a, const Problem& b);

}  // namespace dyn::rkernel
