#pragma once
// Small device kernels as text.

#include <string>

#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::test {

/// A kernel. `body` is the text after the entry, in which %p0, %p1, ... are the operands, %t is the
/// thread, %lane its lane, %b the block, and %shared the shared memory.
struct KernelText {
  int threads = 32, shared_bytes = 0, operands = 1;
  std::string body;

  /// The module, with all device operations declared, and the kernel under this name.
  std::string module(const std::string& symbol = "kernel") const;
  /// The same as a source that any device loads.
  codegen::KernelSource source() const;
  /// The same kernel with each `from` in its body replaced. Throws std::logic_error where there is
  /// none.
  KernelText with(const std::string& from, const std::string& to) const;
};

}  // namespace dyn::test
