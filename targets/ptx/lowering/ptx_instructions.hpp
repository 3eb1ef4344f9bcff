#pragma once
// Device operations as instructions of PTX: LLVM's intrinsics, or inline assembly where LLVM 19 has
// none, or one whose description is not true on a GPU.

namespace llvm {
class Module;
}

namespace dyn::ptx {

/// Replaces all calls of dyn.dev.* and their declarations.
void replace_device_ops(llvm::Module& module);

}  // namespace dyn::ptx
