#pragma once
// Device IR: one LLVM module for each kernel, in device operations (device_ops.hpp), lowered either
// to PTX or to the emulator.
//
// A kernel is `void NAME(ptr addrspace(1) pointers, ptr addrspace(1) ints, ptr addrspace(1)
// status)` with the function attributes "dyn.threads" (of a block, exactly) and "dyn.shared" (bytes
// of a block). Global memory is address space 1, shared memory address space 3, both reached by
// plain loads and stores; everything else that a GPU thread can do is a call to `dyn.dev.*`. Grids
// and blocks have one dimension.

#include <memory>
#include <span>
#include <string>

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::ptx {

inline constexpr unsigned global_space = 1, shared_space = 3;
inline constexpr const char* device_triple = "nvptx64-nvidia-cuda";
/// The data layout of LLVM's NVPTX back end.
inline constexpr const char* device_data_layout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";

/// An empty module with the triple and data layout of device IR.
std::unique_ptr<llvm::Module> make_device_module(llvm::LLVMContext& context,
                                                 const std::string& name);

/// Runs the source, then verify_device_module().
std::unique_ptr<llvm::Module> emit_device_module(llvm::LLVMContext& context,
                                                 const codegen::KernelSource& source,
                                                 const std::string& symbol);

/// A builder for code of the module.
codegen::Builder builder_for(llvm::Module& module);

/// The empty function of a kernel, with its attributes; the builder is left in its entry block.
/// `resident`: so many blocks have room on one multiprocessor with the registers that an assembler
/// gives a thread; more than 1 is the attribute "dyn.resident".
llvm::Function* create_kernel(codegen::Builder& builder, llvm::Module& module,
                              const std::string& symbol, int threads, int shared_bytes,
                              int resident = 1);

/// Intrinsics (llvm::Intrinsic::ID) that may be called beside device operations.
std::span<const unsigned> device_intrinsics();

/// Throws Error(internal) where the module is not valid IR, calls anything but a known device
/// operation of that very signature or an intrinsic that both lowerings know, has no kernel, lacks
/// an attribute, or breaks another rule of docs/device_operations.md.
void verify_device_module(const llvm::Module& module);

struct KernelShape {
  std::string symbol;
  int threads = 0, shared_bytes = 0, resident = 1;
};
/// The only kernel of a module.
KernelShape kernel_shape(const llvm::Module& module);

/// 16 hexadecimal digits over the module's text.
std::string module_hash(const llvm::Module& module);

/// The module's text, and a module from text (which tests edit). Throws Error(internal) with the
/// parser's message.
std::string module_text(const llvm::Module& module);
std::unique_ptr<llvm::Module> parse_device_module(llvm::LLVMContext& context,
                                                  const std::string& text);

}  // namespace dyn::ptx
