#pragma once
// A kernel between its problem and its code.

#include <memory>
#include <utility>
#include <vector>

#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::codegen {

/// A kernel whose code is not made yet: it says what it needs, and nothing else can be done with
/// it. Kernels come from drafts alone, so that none is planned before it has its code.
///
/// `Function` is what a target calls code by: an address, or a device's handle. The kernel keeps
/// take_code(std::vector<Function>) for its draft.
template <class Kernel, class Function>
class KernelDraft {
 public:
  explicit KernelDraft(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  const Kernel& kernel() const { return *kernel_; }
  /// They refer to the kernel: the draft, and then the kernel, must outlive them.
  std::vector<KernelSource> sources() const { return kernel_->sources(); }
  /// The draft is empty after that. `functions`: of sources(), in that order.
  std::unique_ptr<Kernel> with_code(std::vector<Function> functions) && {
    kernel_->take_code(std::move(functions));
    return std::move(kernel_);
  }
  /// A kernel that plans but cannot run: for devices that are only described.
  std::unique_ptr<Kernel> without_code() && {
    return std::move(*this).with_code(std::vector<Function>(sources().size(), nullptr));
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace dyn::codegen
