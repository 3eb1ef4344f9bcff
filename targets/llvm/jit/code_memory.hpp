#pragma once
// Memory for generated code: written while it is linked, executable afterwards, never both through
// one mapping.

#include <memory>
#include <string>

#include "targets/llvm/jit/jit.hpp"

namespace llvm::jitlink {
class JITLinkMemoryManager;
}

namespace dyn::codegen {

/// Finds the mapping that this system allows: Protect where pages that were written may become
/// executable, else Dual where an anonymous file may be mapped a second time to be executed. Throws
/// Error(unsupported) where it allows neither.
CodeMapping allowed_mapping();

/// Says why this system lets no code be generated (what refuses, and how to allow it); empty where
/// it does.
std::string code_memory_refusal();

/// `mapping` must not be Automatic.
std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> make_code_memory(CodeMapping mapping);

}  // namespace dyn::codegen
