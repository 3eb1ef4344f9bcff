#pragma once
// The parts of a loaded model, for the files that implement it.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "graph/ops/state_rules.hpp"
#include "src/runtime/device/weights.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/executables/structures.hpp"
#include "src/runtime/plan/binder.hpp"
#include "src/runtime/plan/plan_cache.hpp"
#include "src/runtime/plan/planner.hpp"
#include "src/runtime/plan/wiring.hpp"
#include "src/runtime/run/run_pool.hpp"
#include "src/runtime/executables/segmented_execution.hpp"
#include "src/runtime/weights/weights.hpp"

namespace dyn::runtime {

inline constexpr const char* reference_device = "reference";

/// Immutable after load, but for the caches, which synchronise themselves.
struct Model::Impl {
  Options options;
  int threads = 1;
  LoadReport report;
  std::vector<PortInfo> inputs, outputs;

  /// Of a model whose structure depends on values of inputs: then there is nothing else here.
  std::unique_ptr<Structures> structures;
  std::map<std::string, Tensor> decided;  ///< values of inputs that this one was made for

  /// Of a model whose run decides sizes: in an order of execution. Then of what follows there is
  /// the module and the binder alone.
  std::vector<SegmentStep> segments;

  graph::Module module;
  graph::Fusion fusion;
  std::vector<graph::AppendedState> states;
  std::vector<rkernel::Problem> problems;
  std::shared_ptr<rkernel::Target> target;  ///< nullptr for device "reference"
  std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
  std::vector<rkernel::Space> spaces;       ///< by group: where its kernel runs
  std::shared_ptr<rkernel::Device> device;  ///< of the groups on a device
  bool only_described = false;  ///< there are such groups, but no such device: nothing can run, and
                                ///< no weights are here
  std::int64_t compiled_at_load = 0;

  Weights weights;
  DeviceWeights device_weights;
  Wiring wiring;
  std::optional<Binder> binder;
  std::optional<Planner> planner;

  mutable std::optional<PlanCache> plans;
  mutable std::atomic<std::int64_t> shapes_planned{0};
  bool by_oracle = false;        ///< plans take what is measured to be fastest
  mutable std::mutex measuring;  ///< one plan is measured at a time: runs would disturb each other
  std::unique_ptr<RunPool> runs;

  bool is_reference() const noexcept { return target == nullptr; }
};

}  // namespace dyn::runtime
