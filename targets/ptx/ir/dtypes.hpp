#pragma once
// Dtypes that device code computes with; the host computes with the others.

#include "dyn/dtype.hpp"

namespace dyn::ptx {

/// True for dtypes of values in registers: f32, and integers of whole bytes.
constexpr bool can_compute(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::boolean: return true;
    default: return false;
  }
}
/// True for integers of 8 bits, which tensor cores multiply by each other.
constexpr bool is_byte(DType dtype) noexcept { return dtype == DType::u8 || dtype == DType::i8; }
/// True for dtypes of operands.
constexpr bool can_load(DType dtype) noexcept {
  return can_compute(dtype) || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace dyn::ptx
