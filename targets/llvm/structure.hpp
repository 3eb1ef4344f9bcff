#pragma once
// The text of what a problem's code depends on: no names, no dims, no sizes. Problems of equal text share code.

#include <span>
#include <string>

#include "src/rkernel/problem.hpp"
#include "targets/llvm/slots.hpp"

namespace dyn::codegen {

std::string structure_text(const rkernel::Problem& problem, const SlotTable& slots,
                           std::span<const StrideClass> lane_classes);

}  // namespace dyn::codegen
