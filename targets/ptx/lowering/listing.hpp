#pragma once
// The code of a kernel, for people to read.

#include <string>

#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::ptx {

/// PTX of one source, the device IR that it was lowered from, and that module's hash. Of the name,
/// characters that file names should not have become '_'.
rkernel::CodeListing list_code(const std::string& name, const codegen::KernelSource& source);

}  // namespace dyn::ptx
