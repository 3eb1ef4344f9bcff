#pragma once
// poison_word as constants of LLVM IR.

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx::emulation {

/// Of any first-class type; a null pointer for pointers.
llvm::Constant* poison_of(llvm::Type* type);

}  // namespace dyn::ptx::emulation
