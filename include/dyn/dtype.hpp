#pragma once
// Element types of tensors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dyn/export.hpp"

namespace dyn {

/// The element type of a tensor. `boolean` is stored as one byte, 0 or 1. The last ten exist as
/// codes in memory: casts convert them, other operators move them, and none computes with them. An
/// f8e4m3fn has 4 bits of exponent and 3 of fraction; the suffixes are ONNX's. A code takes one
/// byte, also where it has 4 or 2 bits: f4e2m1, u4 and u2 in the low bits of 0, i4 and i2 with
/// their sign extended. Operators that do not support a dtype say so when a model is loaded.
enum class DType : std::uint8_t {
  f32,
  f16,
  bf16,
  f64,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2
};

/// Bytes of one element.
DYN_API std::size_t size_of(DType dtype) noexcept;

/// The name used by the text IR: that of the enumerator, but `bool`.
DYN_API std::string_view name_of(DType dtype) noexcept;

/// Every dtype, in the order of the enum.
DYN_API std::span<const DType> all_dtypes() noexcept;

/// The inverse of name_of; nothing where no such dtype exists.
DYN_API std::optional<DType> parse_dtype(std::string_view name) noexcept;

constexpr bool is_float(DType dtype) noexcept { return dtype <= DType::f64; }
constexpr bool is_unsigned(DType dtype) noexcept {
  return dtype >= DType::u8 && dtype <= DType::u64;
}
/// True for the dtypes that exist as codes in memory.
constexpr bool is_code(DType dtype) noexcept { return dtype > DType::boolean; }
/// Signed or unsigned; `boolean` and codes are none.
constexpr bool is_integer(DType dtype) noexcept {
  return dtype >= DType::i8 && dtype <= DType::u64;
}

/// Maps a C++ element type to its DType, for typed access to tensors.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

}  // namespace dyn
