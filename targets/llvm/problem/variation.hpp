#pragma once
// Finds the axes along which values vary: this decides what is scalar, what is hoisted and what is
// computed again.

#include <cstdint>
#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::codegen {

/// A set of axes, one bit each.
using AxisSet = std::uint64_t;
constexpr AxisSet axis_bit(int axis) noexcept { return AxisSet{1} << axis; }

/// Axes along which the elements of an operand vary, its guards included.
AxisSet operand_axes(const rkernel::Problem& problem, const SlotTable& slots, int operand,
                     StrideClass lane_class);

/// The same for each expression. A reduction does not vary along reduction axes, an Accumulator
/// along all parallel ones.
std::vector<AxisSet> expr_axes(const rkernel::Problem& problem, const SlotTable& slots,
                               std::span<const StrideClass> lane_classes);

/// A comparison of the index along the lane axis with a dim (is it below, is it not?): equal for
/// all lanes between two such borders.
bool is_border(const rkernel::Problem& problem, int expr);

}  // namespace dyn::codegen
