#include "targets/ptx/function/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/ir/op.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "targets/ptx/function/code.hpp"
#include "targets/ptx/function/device_function.hpp"

namespace dyn::ptx {
namespace {

class GpuFunctionKernel final : public FunctionKernel {
 public:
  GpuFunctionKernel(std::string name, std::shared_ptr<const DeviceFunction> function,
                    const choice::GpuMachine& machine, const std::string& target_name)
      : FunctionKernel(target_name),
        name_(std::move(name)),
        function_(std::move(function)),
        machine_(machine) {}

  std::vector<codegen::KernelSource> sources() const override {
    std::vector<codegen::KernelSource> sources;
    for (std::size_t i = 0; i < function_->classes().size(); ++i)
      sources.push_back(
          {function_->classes()[i].key,
           [function = function_, i](llvm::Module& module, const std::string& symbol) {
             function->emit(module, symbol, i);
           }});
    return sources;
  }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    FunctionLaunch from = function_->launch(request.symbols, machine_);
    const FunctionClass& chosen = function_->classes()[from.chosen];
    rkernel::Launch launch;
    launch.ints = std::move(from.ints);
    launch.grid.function = function_at(from.chosen);
    launch.grid.blocks = std::min(from.tickets, resident_blocks(machine_, chosen.shared_bytes) *
                                                    choice::default_calibration().gpu_loop_waves);
    launch.grid.threads = function_threads;
    launch.grid.shared_bytes = chosen.shared_bytes;
    launch.shared_bytes = from.shared_bytes;
    launch.tickets = from.tickets;
    launch.predicted_seconds = from.seconds;
    launch.bytes = from.bytes;
    return launch;
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const FunctionLaunch launch = function_->launch(request.symbols, machine_);
    return fmt::format("  {:.4g} us: {}; {:.0f} bytes, {} tickets of {} threads\n",
                       launch.seconds * 1e6, function_->classes()[launch.chosen].name, launch.bytes,
                       launch.tickets, function_threads);
  }

  std::string describe() const override { return class_keys(); }

 private:
  std::optional<std::size_t> class_at(const rkernel::PlanRequest& request) const override {
    return function_->launch(request.symbols, machine_).chosen;
  }

  std::string class_name(std::size_t index) const override {
    return name_ + "-" + function_->classes()[index].name;
  }

  std::string name_;
  std::shared_ptr<const DeviceFunction> function_;
  choice::GpuMachine machine_;
};

std::unique_ptr<DeviceFunction> function_of(const rkernel::Problem& problem) {
  if (problem.recurrence) return make_recurrence(problem);
  if (!problem.host) return nullptr;
  const rkernel::HostCall& call = *problem.host;
  switch (call.node.op->id) {
    case graph::OpId::Cumsum: return make_scan(call);
    case graph::OpId::ScatterElements:
    case graph::OpId::ScatterNd: return make_scatter(call);
    case graph::OpId::Topk: return make_topk(call);
    case graph::OpId::LinearAttention: return make_linear_attention(call);
    default: return nullptr;
  }
}

}  // namespace

std::int64_t resident_blocks(const choice::GpuMachine& machine, int shared_bytes) {
  const int registers = static_cast<int>(choice::default_calibration().gpu_loop_registers);
  return std::int64_t{machine.multiprocessors} *
         std::max(1, choice::occupancy(machine, function_threads, registers, shared_bytes).blocks);
}

std::optional<FunctionKernel::Draft> FunctionKernel::draft(const rkernel::Problem& problem,
                                                           const choice::GpuMachine& machine,
                                                           const std::string& target_name) {
  std::shared_ptr<const DeviceFunction> function = function_of(problem);
  if (!function) return std::nullopt;
  return Draft(
      std::make_unique<GpuFunctionKernel>(problem.name, std::move(function), machine, target_name));
}

}  // namespace dyn::ptx
