#pragma once
// Words and addresses of a kernel in IR.

#include <cstdint>

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

inline llvm::ConstantInt* number(codegen::Builder& builder, int value) {
  return builder.getInt32(static_cast<std::uint32_t>(value));
}

inline llvm::Value* at_byte(codegen::Builder& builder, llvm::Value* base, llvm::Value* bytes) {
  return builder.CreateGEP(builder.getInt8Ty(), base, bytes);
}

}  // namespace dyn::ptx
