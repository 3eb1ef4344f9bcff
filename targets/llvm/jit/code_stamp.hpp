#pragma once
// All generated code depends on these: versions, and the sources of the code generator.

#include <string>

namespace dyn::codegen {

/// "dyn 0.1.0 0123456789abcdef llvm 19.1.7"; different wherever the same class may give different
/// code or other timings.
std::string code_stamp();

}  // namespace dyn::codegen
