#include "src/runtime/executables/resident_weights.hpp"

#include <utility>

#include "src/base/clock.hpp"
#include "src/runtime/weights/weight_loader.hpp"

namespace dyn::runtime {
namespace {

WeightLayout layout_on_host(const graph::Module& module, const CompiledGroups& groups,
                            const rkernel::Target& target) {
  return {module, groups.problems, groups.in(rkernel::Space::Host), target};
}

void add_times(LoadReport& report, const WeightTimes& times, Clock::time_point start) {
  report.random_weights = times.random;
  report.weights = seconds_since(start) - times.random - report.weights_write;
}

}  // namespace

ResidentWeights::ResidentWeights(MemoryBudget::Weights counted, Weights host, DeviceWeights device,
                                 LoadReport& report)
    : counted_(std::move(counted)), host_(std::move(host)), device_(std::move(device)) {
  report.weight_bytes = host_.bytes() + device_.bytes();
}

ResidentWeights ResidentWeights::plain(const graph::Module& module, const LoadRequest& request,
                                       const ModelInfo& info, LoadReport& report) {
  WeightLayout layout(module);
  MemoryBudget::Weights counted(info.memory_budget, layout.bytes());
  const Clock::time_point start = Clock::now();
  const WeightSources sources(module, request, info.options);
  WeightTimes times;
  Weights host = WeightLoader(module, sources, info.options, info.threads)
                     .load(std::move(layout), times, report);
  add_times(report, times, start);
  return {std::move(counted), std::move(host), {}, report};
}

ResidentWeights ResidentWeights::of_groups(const graph::Module& module,
                                           const CompiledGroups& groups,
                                           const rkernel::Target& target, rkernel::Device* device,
                                           const LoadRequest& request, const ModelInfo& info,
                                           LoadReport& report) {
  WeightLayout layout = layout_on_host(module, groups, target);
  MemoryBudget::Weights counted(info.memory_budget, layout.bytes());
  const Clock::time_point start = Clock::now();
  const WeightSources sources(module, request, info.options);
  WeightTimes times;
  Weights host = WeightLoader(module, sources, info.options, info.threads)
                     .load(std::move(layout), times, report);
  DeviceWeights on_device;
  if (device != nullptr) {
    sources.read_data();
    on_device = DeviceWeights(module, groups.problems, groups.in(rkernel::Space::Device), *device,
                              sources, info.threads, times);
  }
  add_times(report, times, start);
  return {std::move(counted), std::move(host), std::move(on_device), report};
}

ResidentWeights ResidentWeights::described(const graph::Module& module,
                                           const CompiledGroups& groups,
                                           const rkernel::Target& target, LoadReport& report) {
  return {{},
          Weights(layout_on_host(module, groups, target)),
          DeviceWeights(module, groups.problems, groups.in(rkernel::Space::Device)),
          report};
}

}  // namespace dyn::runtime
