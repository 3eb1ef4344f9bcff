#pragma once
// Element types of tensors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dyn/export.hpp"

namespace dyn {

/// The element type of a tensor. `boolean` is stored as one byte, 0 or 1. Operators that do not
/// support a dtype say so when a model is loaded.
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
  boolean
};

/// Bytes of one element.
DYN_API std::size_t size_of(DType dtype) noexcept;

/// The name used by the text IR: f32, f16, bf16, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool.
DYN_API std::string_view name_of(DType dtype) noexcept;

/// Every dtype, in the order of the enum.
DYN_API std::span<const DType> all_dtypes() noexcept;

/// The inverse of name_of; nothing where no such dtype exists.
DYN_API std::optional<DType> parse_dtype(std::string_view name) noexcept;

constexpr bool is_float(DType dtype) noexcept { return dtype <= DType::f64; }
constexpr bool is_unsigned(DType dtype) noexcept {
  return dtype >= DType::u8 && dtype <= DType::u64;
}
/// Signed or unsigned; `boolean` is none.
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
