#pragma once
// Numbers of every dtype outside of tensors. Integers travel as std::int64_t; those of u64 as the
// int64 of the same bits.

#include <cstdint>
#include <string>

#include "dyn/dtype.hpp"

namespace dyn::graph {

/// 16-bit floats exist in memory alone: computing is in f32, rounded after every operator.
constexpr bool is_half(DType dtype) noexcept { return dtype == DType::f16 || dtype == DType::bf16; }

/// Calls body(T{}) with the C++ type T of the dtype's elements in memory (bool for boolean, a byte
/// for codes). False for f16 and bf16, which have none.
template <class Body>
bool with_element_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f32: body(float{}); return true;
    case DType::f64: body(double{}); return true;
    case DType::i8: body(std::int8_t{}); return true;
    case DType::i16: body(std::int16_t{}); return true;
    case DType::i32: body(std::int32_t{}); return true;
    case DType::i64: body(std::int64_t{}); return true;
    case DType::u8: body(std::uint8_t{}); return true;
    case DType::u16: body(std::uint16_t{}); return true;
    case DType::u32: body(std::uint32_t{}); return true;
    case DType::u64: body(std::uint64_t{}); return true;
    case DType::boolean: body(bool{}); return true;
    case DType::i4:
    case DType::i2: body(std::int8_t{}); return true;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::u4:
    case DType::u2: body(std::uint8_t{}); return true;
    case DType::f16:
    case DType::bf16: break;
  }
  return false;
}

/// An integer of the dtype with the low bits of `value`: the result of arithmetic that wraps
/// around. A boolean is true where `value` is not 0.
std::int64_t wrapped(DType dtype, std::uint64_t value);

/// The integer of the dtype that is nearest to `number` truncated toward zero; 0 for NaN. A boolean
/// is true where `number` is not 0; NaN counts as true.
std::int64_t saturated(DType dtype, double number);

/// The least and the greatest integer of the dtype, also of i4, u4, i2 and u2; boolean has 0 and 1.
std::int64_t least(DType dtype);
std::int64_t greatest(DType dtype);

/// An integer of the dtype as a number, rounded where a double has too few bits.
double as_number(DType dtype, std::int64_t integer);

/// As the text IR writes it.
std::string integer_text(DType dtype, std::int64_t integer);

/// A number as a float dtype holds it: to nearest, ties to even.
double rounded(DType dtype, double number);

}  // namespace dyn::graph
