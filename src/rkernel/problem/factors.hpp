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

/// Weights of 4 or 8 bits in blocks along K. In a block the elements of a column are codes of i4 or
/// i8, less its zero point where blocks have such, times its scale; the last block of a panel may
/// have fewer than it has room for.
struct Coding {
  int block = 0;             ///< elements (coding_blocks); 0: weights are not coded
  DType scale = DType::f32;  ///< or f16; zero points lie so too
  bool zero_points = false;
  int bits = 4;  ///< of a code, or 8

  auto operator<=>(const Coding&) const = default;
  explicit operator bool() const { return block != 0; }
  /// Bytes of one column's part of a block: its scale, its zero point, its codes.
  std::int64_t block_bytes() const { return number_bytes() + std::int64_t{block} * bits / 8; }
  std::int64_t number_bytes() const {
    return static_cast<std::int64_t>(size_of(scale)) * (zero_points ? 2 : 1);
  }
  DType codes() const { return bits == 4 ? DType::i4 : DType::i8; }
  /// Codes of one column that lie side by side in four bytes, along K.
  int codes_of_word() const { return 32 / bits; }
};

/// The sizes that blocks may have.
inline constexpr int coding_blocks[] = {16, 32, 64, 128, 256};
inline constexpr int usual_coding_block = 32;  ///< Options::weight_group where nobody sets it

/// The numbers of bits that codes may have.
inline constexpr int coding_bits[] = {4, 8};

/// The lowest bit of a word's code of number `index`: each element of a group has its own part of
/// the word, from whose lowest bits on its codes of `bits` lie.
constexpr int bit_of_code(Group group, int bits, int index) noexcept {
  const int parts = elements_of(group);
  return index % parts * (32 / parts) + index / parts * bits;
}

/// The factors of a contraction. Without groups B may have weights that become f32 (exactly) before
/// they are multiplied. Codes become elements of their group, and the sum of a block's products is
/// a number times the block's scale.
struct Factors {
  Group group = Group::None;
  DType weights = DType::f32;
  Coding coding = {};  ///< of weights in blocks

  Factors() = default;
  Factors(DType narrow) : weights(narrow) {}  // NOLINT(google-explicit-constructor)
  explicit Factors(Group grouped) : group(grouped) {}
  explicit Factors(const Coding& codes, Group grouped = Group::None)
      : group(grouped), weights(codes.codes()), coding(codes) {}
  auto operator<=>(const Factors&) const = default;

  bool grouped() const { return group != Group::None; }
  bool coded() const { return static_cast<bool>(coding); }
  /// A dtype as wide as what one step of K reads of one column of B, which is not coded.
  DType step_dtype() const { return grouped() ? DType::i32 : weights; }
  /// Steps of K of a block of codes.
  int block_steps() const { return coding.block / elements_of(group); }
  /// Bytes that a step of K reads of one column of B.
  double step_bytes() const {
    return coded() ? static_cast<double>(coding.block_bytes()) / block_steps()
                   : static_cast<double>(size_of(step_dtype()));
  }
  /// What the accumulators are.
  DType sums() const {
    return !coded() && (group == Group::Bytes || group == Group::Shorts) ? DType::i32 : DType::f32;
  }
  /// "f32", "bf16", ... of weights; "u8xi8", "i16xi16", "bf16xbf16" of groups; "i4 in 32 by f16",
  /// "u8xi8 of i4 in 32 by f16".
  std::string name() const {
    if (!coded()) return grouped() ? name_of_group() : std::string(name_of(weights));
    return (grouped() ? name_of_group() + " of " : "") + std::string(name_of(weights)) + " in " +
           std::to_string(coding.block) + " by " + std::string(name_of(coding.scale)) +
           (coding.zero_points ? " from zeros" : "");
  }

 private:
  std::string name_of_group() const {
    switch (group) {
      case Group::Bytes: return "u8xi8";
      case Group::Shorts: return "i16xi16";
      case Group::Bfloats: return "bf16xbf16";
      case Group::None: break;
    }
    return {};
  }
};

}  // namespace dyn::rkernel
