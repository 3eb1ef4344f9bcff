#pragma once
// Small device kernels for tests of the operations and their lowering.

#include <functional>
#include <memory>
#include <string>

#include <llvm/IR/Module.h>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::test {

/// A kernel under construction: `operand(i)` is the address of operand i, as a kernel finds it.
struct KernelBody {
  codegen::Builder& builder;
  llvm::Function* kernel;
  llvm::Value* operand(int i) const;
};

/// A module with the kernel "kernel" of 64 threads and what `body` writes; not verified.
std::unique_ptr<llvm::Module> device_kernel(llvm::LLVMContext& context,
                                            const std::function<void(const KernelBody&)>& body,
                                            int threads = 64, int shared_bytes = 1024);

/// A kernel that calls one operation and stores its results. Argument i is: thread + i (i32, f32),
/// constant_argument(i) (capitals), or an address that differs in each thread.
std::unique_ptr<llvm::Module> kernel_of(llvm::LLVMContext& context, const ptx::DeviceOp& op);

/// Suits every operation; different for each i of one operation.
std::uint32_t constant_argument(unsigned index);

/// The message of the dyn::Error(internal) that `action` throws, "" where it throws none.
std::string internal_error(const std::function<void()>& action);

}  // namespace dyn::test
