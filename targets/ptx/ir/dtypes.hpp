#pragma once
// Dtypes that device code computes with; the host computes with the others.

#include "dyn/dtype.hpp"

namespace dyn::ptx {

/// True for dtypes of values in registers.
constexpr bool can_compute(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::i32 || dtype == DType::i64 ||
         dtype == DType::boolean;
}
/// True for dtypes of operands.
constexpr bool can_load(DType dtype) noexcept {
  return can_compute(dtype) || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace dyn::ptx
