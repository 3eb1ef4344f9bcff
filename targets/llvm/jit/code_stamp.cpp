#include "targets/llvm/jit/code_stamp.hpp"

#include <fmt/format.h>

#include "dyn/version.hpp"
#include "targets/llvm/jit/compiler.hpp"

namespace dyn::codegen {

std::string code_stamp() {
  return fmt::format("dyn {} {} llvm {}", version(), DYN_CODE_STAMP, llvm_version());
}

}  // namespace dyn::codegen
