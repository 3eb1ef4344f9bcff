#pragma once
// Memory for generated code: written while it is linked, executable afterwards, never both through one mapping.

#include <memory>

#include "targets/llvm/jit/jit.hpp"

namespace llvm::jitlink {
class JITLinkMemoryManager;
}

namespace dyn::codegen {

/// Which mapping this system allows: Protect where pages that were written may become executable, else Dual where an
/// anonymous file may be mapped a second time to be executed. Throws Error(unsupported) where it allows neither.
CodeMapping allowed_mapping();

/// `mapping` must not be Automatic.
std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> make_code_memory(CodeMapping mapping);

}  // namespace dyn::codegen
