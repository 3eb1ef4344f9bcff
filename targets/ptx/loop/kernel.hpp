#pragma once
// GPU kernels of problems without a contraction: element-wise work, reductions, softmax,
// normalisation, gathers, copies.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"
#include "targets/ptx/loop/class.hpp"
#include "targets/ptx/lowering/device_kernel.hpp"

namespace dyn::ptx {

/// One problem with all its shape classes. plan() evaluates the slots, picks the class, and sizes
/// the grid.
class LoopKernel : public DeviceKernel {
 public:
  using Draft = codegen::KernelDraft<LoopKernel, const void*>;
  /// Nothing where the problem uses something that device code lacks (the caller then gives it to
  /// another target).
  static std::optional<Draft> draft(const rkernel::Problem& problem,
                                    const choice::GpuMachine& machine,
                                    const std::string& target_name);

  virtual std::shared_ptr<const LoopProblem> loop() const = 0;
  virtual std::shared_ptr<const std::vector<LoopClass>> classes() const = 0;
  /// Index of the class that plan() takes.
  virtual std::size_t class_of(const rkernel::PlanRequest& request) const = 0;

 protected:
  using DeviceKernel::DeviceKernel;
};

}  // namespace dyn::ptx
