#pragma once
// A kernel for the fake driver, which executes none.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

#include "targets/ptx/ir/device_module.hpp"

namespace dyn::test {

inline constexpr int large_shared_bytes = 96 << 10;

/// A kernel that only returns: the test's on_launch does the work.
inline codegen::KernelSource empty_kernel(const std::string& key, int shared_bytes = 0) {
  return {key, [shared_bytes](llvm::Module& module, const std::string& symbol) {
            codegen::Builder builder(module.getContext());
            ptx::create_kernel(builder, module, symbol, 64, shared_bytes);
            builder.CreateRetVoid();
          }};
}

}  // namespace dyn::test
