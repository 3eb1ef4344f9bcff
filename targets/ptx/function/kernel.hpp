#pragma once
// GPU kernels of operators over whole tensors: cumsum, scatter_elements, scatter_nd, topk,
// linear_attention, and the steps of recurrent layers.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"
#include "targets/ptx/lowering/device_kernel.hpp"

namespace dyn::ptx {

class FunctionKernel : public DeviceKernel {
 public:
  using Draft = codegen::KernelDraft<FunctionKernel, const void*>;
  /// Nothing where no device code computes the problem's HostCall or Recurrence.
  static std::optional<Draft> draft(const rkernel::Problem& problem,
                                    const choice::GpuMachine& machine,
                                    const std::string& target_name);

 protected:
  using DeviceKernel::DeviceKernel;
};

}  // namespace dyn::ptx
