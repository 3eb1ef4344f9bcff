#pragma once
// Outputs of a contraction that neighbouring lanes compute and store 4 elements at a time.

#include <cstdint>
#include <span>
#include <string_view>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

inline constexpr int output_lanes = 4;  ///< f32: 16 bytes

/// Outputs, and what the group's expressions read beside the factors, lie in vectors of
/// output_lanes elements, aligned to their size.
enum class VectorOutputs : unsigned char {
  Never,
  Sometimes,  ///< strides and sizes of the launch decide
  Always
};
std::string_view name_of(VectorOutputs outputs);

/// `lanes`: each operand's class of stride along n, as code knows it.
VectorOutputs vector_outputs(const rkernel::Problem& problem,
                             std::span<const codegen::StrideClass> lanes);
/// For values of the problem's slots, where vector_outputs() gives Sometimes.
bool vector_outputs_now(const rkernel::Problem& problem,
                        std::span<const codegen::StrideClass> lanes,
                        const codegen::SlotTable& slots, std::span<const std::int64_t> ints);

}  // namespace dyn::ptx
