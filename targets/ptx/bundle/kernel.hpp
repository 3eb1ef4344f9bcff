#pragma once
// Independent loop problems in one launch (horizontal fusion): each has its own blocks of the grid.

#include <memory>
#include <optional>
#include <string>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"
#include "targets/ptx/lowering/device_kernel.hpp"
#include "targets/ptx/programs/later_code.hpp"

namespace dyn::ptx {

/// A problem of parts. Each takes the class that it would take alone; the code of what they take
/// together is made when a plan needs it.
class BundleKernel : public DeviceKernel {
 public:
  using Draft = codegen::KernelDraft<BundleKernel, const void*>;
  /// Nothing where device code cannot run a part. Without `code` launches can be planned and
  /// explained.
  static std::optional<Draft> draft(const rkernel::Problem& problem,
                                    const choice::GpuMachine& machine,
                                    const std::string& target_name, CodeOnDemand code);

  /// Classes that the parts have, each alone. Which of them meet is known when sizes are.
  virtual std::size_t part_classes() const = 0;

 protected:
  using DeviceKernel::DeviceKernel;
};

/// True for loop problems that are predicted to take less time than their launch does, at typical
/// sizes: beside others they cost next to nothing.
bool is_worth_bundling(const rkernel::Problem& problem, const choice::GpuMachine& machine);

}  // namespace dyn::ptx
