#pragma once
// The instructions that arithmetic of device IR may use.

#include "targets/llvm/math/math.hpp"

namespace dyn::ptx {

inline constexpr codegen::MathOptions device_math{.fma = true, .scalef = false, .lrint = false};

}  // namespace dyn::ptx
