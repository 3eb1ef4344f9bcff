#pragma once
// The factors of a contraction: their dtypes, and how many are multiplied at once.

#include <compare>
#include <cstdint>
#include <string>

#include "dyn/dtype.hpp"

namespace dyn::rkernel {

/// Elements of four bytes in all that lie one after the other along K, one group of each factor:
/// one step multiplies them pair by pair and adds up the products.
enum class Group : std::uint8_t {
  None,     ///< single elements of f32
  Bytes,    ///< four of u8 by four of i8, added to i32 without saturation
  Shorts,   ///< two of i16 by two of i16, added to i32
  Bfloats,  ///< two of bf16 by two of bf16, added to f32
};

/// How many kinds there are.
inline constexpr int group_count = 4;

/// Elements of one factor in a group.
constexpr int elements_of(Group group) noexcept {
  return group == Group::Bytes ? 4 : group == Group::None ? 1 : 2;
}

/// The factors of a contraction. Without groups B may have weights that become f32 (exactly) before
/// they are multiplied.
struct Factors {
  Group group = Group::None;
  DType weights = DType::f32;

  Factors() = default;
  Factors(DType narrow) : weights(narrow) {}  // NOLINT(google-explicit-constructor)
  explicit Factors(Group grouped) : group(grouped) {}
  auto operator<=>(const Factors&) const = default;

  bool grouped() const { return group != Group::None; }
  /// A dtype as wide as what one step of K reads of one column of B.
  DType step_dtype() const { return grouped() ? DType::i32 : weights; }
  /// What the accumulators are.
  DType sums() const {
    return group == Group::Bytes || group == Group::Shorts ? DType::i32 : DType::f32;
  }
  /// "f32", "bf16", ... of weights; "u8xi8", "i16xi16", "bf16xbf16" of groups.
  std::string name() const {
    switch (group) {
      case Group::Bytes: return "u8xi8";
      case Group::Shorts: return "i16xi16";
      case Group::Bfloats: return "bf16xbf16";
      case Group::None: break;
    }
    return std::string(name_of(weights));
  }
};

}  // namespace dyn::rkernel
