#pragma once
// One fused attention on a GPU with all its tiles: sources, choice, plan, explanation.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/choice/gpu/attention.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"

namespace dyn::ptx {

class GpuAttentionKernel : public rkernel::Kernel {
 public:
  using Draft = codegen::KernelDraft<GpuAttentionKernel, const void*>;
  /// `compute`, `allow_tf32`: what multiplies (gpu_attention_tiles()). Nothing where device code
  /// cannot run the problem: keys and values with scales, operands that are no floats or that
  /// gather, a depth that may be more than 256.
  static std::optional<Draft> draft(const rkernel::Problem& problem,
                                    const choice::GpuMachine& machine, DType compute,
                                    bool allow_tf32, const std::string& target_name);
  virtual std::vector<codegen::KernelSource> sources() const = 0;
  rkernel::Space space() const override { return rkernel::Space::Device; }

 private:
  friend Draft;
  /// Handles from PtxDevice::load() for sources(), in that order.
  virtual void take_code(std::vector<const void*> functions) = 0;
};

}  // namespace dyn::ptx
