#pragma once
// The instructions that multiply groups of narrow elements.

#include <string_view>
#include <vector>

#include "src/rkernel/problem/factors.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

using rkernel::Factors;
using rkernel::Group;

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

/// The left factors of the products of integers that this CPU multiplies by most at once: u8 with
/// an instruction for Bytes, else i16.
DType widest_integer_factor(const codegen::Isa& isa);

/// Whether it has an instruction for Bfloats.
bool multiplies_bfloats(const codegen::Isa& isa);

/// Lets the function's code use what the group needs besides the ISA.
void allow_group(llvm::Function& function, const codegen::Isa& isa, Group group);

/// `sums` plus the products of the groups of two vectors, each of `f32_lanes` i32.
llvm::Value* add_products(codegen::Builder& builder, const codegen::Isa& isa, Group group,
                          llvm::Value* a, llvm::Value* b, llvm::Value* sums);

}  // namespace dyn::cpu
