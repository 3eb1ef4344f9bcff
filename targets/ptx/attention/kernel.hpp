#pragma once
// One fused attention on a GPU with all its tiles: sources, choice, plan, explanation.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/choice/gpu/attention.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"
#include "targets/ptx/lowering/device_kernel.hpp"

namespace dyn::ptx {

class GpuAttentionKernel : public DeviceKernel {
 public:
  using Draft = codegen::KernelDraft<GpuAttentionKernel, const void*>;
  /// `compute`, `allow_tf32`: what multiplies (gpu_attention_tiles()). Nothing where device code
  /// cannot run the problem: keys and values with scales, operands that are no floats or that
  /// gather, a depth that may be more than 256. `policy` is what explain() names: dyn chooses under
  /// all of them.
  static std::optional<Draft> draft(const rkernel::Problem& problem,
                                    const choice::GpuMachine& machine, DType compute,
                                    bool allow_tf32, const std::string& target_name,
                                    rkernel::Policy policy = rkernel::Policy::Dyn);

 protected:
  using DeviceKernel::DeviceKernel;
};

}  // namespace dyn::ptx
