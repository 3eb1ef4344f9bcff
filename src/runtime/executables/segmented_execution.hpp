#pragma once
// Runs of the steps of a model whose run decides sizes.

#include <map>
#include <memory>
#include <vector>

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/executables/loop_execution.hpp"
#include "src/runtime/executables/segmented_executable.hpp"
#include "src/runtime/run/call_ports.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::runtime {

class SegmentedExecution final : public Execution {
 public:
  SegmentedExecution(const SegmentedExecutable& executable, CallPorts& ports);

  /// Throws Error(user) also for sizes that do not fit. The seconds of a profile stay as they are:
  /// a segment's groups are not the model's.
  void run(const RunRequest& request) override;
  void use_plan(PlanPtr plan) override;
  PlanPtr plan() const override { return nullptr; }

 private:
  std::vector<Tensor> run_steps(std::vector<std::int64_t> symbols, const RunControl* control);
  bool is_needed(const graph::Segment& segment) const;
  void run_model(std::size_t step, const RunControl* control);
  void run_node(const graph::Node& node, const RunControl* control);
  void compute(const graph::Node& node);
  void choose(const graph::Node& node);
  void run_loop(std::size_t step, const RunControl* control);
  void check_sizes(const graph::Node& node) const;
  void define(const graph::Node& node, std::span<const std::int64_t> values);
  Tensor value(graph::ValueId id) const;
  Tensor new_tensor(const graph::TensorType& type) const;

  const SegmentedExecutable& executable_;
  CallPorts& ports_;
  std::vector<std::unique_ptr<CallState>> calls_;      ///< by step; nullptr for those of the host
  std::vector<std::unique_ptr<LoopExecution>> loops_;  ///< by step; nullptr for others
  std::map<graph::ValueId, Tensor> values_;
  std::vector<std::int64_t> symbols_;  ///< 0 for those that the run has yet to define
  std::vector<bool> known_;            ///< by symbol
  ProfileBuilder* builder_ = nullptr;  ///< of the run that goes on; nullptr: none
};

}  // namespace dyn::runtime
