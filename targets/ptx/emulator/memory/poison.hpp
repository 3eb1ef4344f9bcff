#pragma once
// poison_word as constants in LLVM IR.

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx::emulation {

/// The constant for any first-class type; a null pointer for pointers.
llvm::Constant* poison_of(llvm::Type* type);

}  // namespace dyn::ptx::emulation
