#pragma once
// What the tiles of contractions multiply, and by which instructions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/dtype.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Elements of four bytes in all that lie one after the other along K, one group of each factor:
/// one instruction multiplies them pair by pair and adds up the products.
enum class Group : std::uint8_t {
  None,     ///< single elements of f32
  Bytes,    ///< u8 by i8, added to i32, exactly as far as the sum fits
  Shorts,   ///< i16 by i16, added to i32; the factors are those of Bytes, widened
  Bfloats,  ///< bf16 by bf16, added to f32
};

/// The factors of a tile. Without groups B may have weights that become f32 (exactly) before they
/// are multiplied.
struct Factors {
  Group group = Group::None;
  DType weights = DType::f32;

  Factors() = default;
  Factors(DType narrow) : weights(narrow) {}  // NOLINT(google-explicit-constructor)
  explicit Factors(Group grouped) : group(grouped) {}
  bool operator==(const Factors&) const = default;

  bool grouped() const { return group != Group::None; }
  /// The dtype as wide as a step of K of one column of B.
  DType step_dtype() const { return grouped() ? DType::i32 : weights; }
  /// Steps of K of the contraction in one step of a tile.
  int steps() const { return group == Group::Bytes ? 4 : grouped() ? 2 : 1; }
  /// What the accumulators are.
  DType sums() const {
    return group == Group::Bytes || group == Group::Shorts ? DType::i32 : DType::f32;
  }
  /// "f32", "bf16", ... of weights; "u8 i8", "i16", "bf16 bf16" of groups.
  std::string name() const;
};

/// The groups that an ISA has an instruction for, with what a CPU needs besides the ISA. Shorts
/// come without: every ISA multiplies them.
struct GroupInstruction {
  Group group;
  std::string_view feature;  ///< LLVM's name of what the CPU needs; empty: nothing more
  int instructions = 1;      ///< for each vector of a step
};
std::vector<GroupInstruction> group_instructions(const codegen::Isa& isa);
/// Of these, what this CPU can execute.
bool cpu_has(const codegen::Isa& isa, const GroupInstruction& instruction);
/// The instruction for a group; throws Error(internal) where the ISA has none.
GroupInstruction instruction_for(const codegen::Isa& isa, Group group);

/// Lets the function's code use what the group needs besides the ISA.
void allow_group(llvm::Function& function, const codegen::Isa& isa, Group group);

/// `sums` plus the products of the groups of two vectors, each of `f32_lanes` i32.
llvm::Value* add_products(codegen::Builder& builder, const codegen::Isa& isa, Group group,
                          llvm::Value* a, llvm::Value* b, llvm::Value* sums);

}  // namespace dyn::cpu
