#pragma once
// A model's weights, on the host and on its device.

#include <memory>

#include "src/runtime/device/weights.hpp"
#include "src/runtime/load/compile.hpp"
#include "src/runtime/load/load_request.hpp"
#include "src/runtime/load/model_info.hpp"
#include "src/runtime/weights/weights.hpp"

namespace dyn::runtime {

/// All count what lies on the host in its budget, and add to `report` what there is and what it
/// took. Throws what weights throw.
class ResidentWeights {
 public:
  /// All weights of the module on the host, as they lie.
  static ResidentWeights plain(const graph::Module& module, const LoadRequest& request,
                               const ModelInfo& info, LoadReport& report);
  /// What the groups read, in the forms in which they read it, where they run. `target` must
  /// outlive the result; `device`: nullptr where no group runs on one.
  static ResidentWeights of_groups(const graph::Module& module, const CompiledGroups& groups,
                                   const rkernel::Target& target, rkernel::Device* device,
                                   const LoadRequest& request, const ModelInfo& info,
                                   LoadReport& report);
  /// The same without memory, for groups on a GPU that is only described.
  static ResidentWeights described(const graph::Module& module, const CompiledGroups& groups,
                                   const rkernel::Target& target, LoadReport& report);

  const Weights& host() const noexcept { return host_; }
  const DeviceWeights& device() const noexcept { return device_; }

 private:
  ResidentWeights(MemoryBudget::Weights counted, Weights host, DeviceWeights device,
                  LoadReport& report);

  MemoryBudget::Weights counted_;
  Weights host_;
  DeviceWeights device_;
};

}  // namespace dyn::runtime
