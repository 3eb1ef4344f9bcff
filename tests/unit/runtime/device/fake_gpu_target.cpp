#include "tests/unit/runtime/device/fake_gpu_target.hpp"

#include <map>
#include <set>

#include "dyn/error.hpp"
#include "src/runtime/load/fallback_target.hpp"
#include "tests/support/problems/problem_interpreter.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"

namespace dyn::testing {
namespace {

class Interpreter final : public FakeFunction {
 public:
  Interpreter(const rkernel::Problem& problem, std::function<void()> runs)
      : problem(problem), runs_(std::move(runs)) {}

  std::int32_t run(const std::int64_t* ints, const std::vector<void*>& memory) const override {
    runs_();
    std::map<graph::ValueId, void*> buffers;
    for (std::size_t i = 0; i < memory.size(); ++i) buffers[problem.operands[i].buffer] = memory[i];
    try {
      interpret(problem, {ints + 1, static_cast<std::size_t>(ints[0])}, buffers);
    } catch (const Error&) { return static_cast<std::int32_t>(rkernel::Status::IndexOutOfRange); }
    return 0;
  }

  rkernel::Problem problem;

 private:
  std::function<void()> runs_;
};

class FakeGpuKernel final : public rkernel::Kernel {
 public:
  FakeGpuKernel(const rkernel::Problem& problem, const FakeGpu& gpu)
      : function_(problem, gpu.runs),
        runs_(gpu.device != nullptr),
        predicted_seconds_(gpu.predicted_seconds) {}

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    rkernel::Launch launch;
    launch.grid.function = runs_ ? static_cast<const FakeFunction*>(&function_) : nullptr;
    launch.grid.blocks = 1;
    launch.grid.threads = 32;
    launch.tickets = 1;
    launch.predicted_seconds = predicted_seconds_;
    launch.ints = {static_cast<std::int64_t>(request.symbols.size())};
    launch.ints.insert(launch.ints.end(), request.symbols.begin(), request.symbols.end());
    return launch;
  }
  std::string explain(const rkernel::PlanRequest&) const override {
    return "one way on the device";
  }
  std::string target_name() const override { return "fakegpu"; }
  std::string describe() const override { return rkernel::to_string(function_.problem); }
  rkernel::Space space() const override { return rkernel::Space::Device; }
  std::vector<rkernel::CodeListing> listings() const override {
    return {{"same", "// for all\n", "", "01"}, {function_.problem.name, "// own\n", "", "02"}};
  }

 private:
  Interpreter function_;
  bool runs_;
  double predicted_seconds_;
};

class FakeGpuTarget final : public rkernel::Target {
 public:
  explicit FakeGpuTarget(const FakeGpu& gpu) : gpu_(gpu) {}

  std::string name() const override { return "fakegpu"; }
  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    narrow(problems, buffers);
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      kernels.push_back(gpu_.on_device(i) ? std::make_unique<FakeGpuKernel>(problems[i], gpu_)
                                          : nullptr);
    }
    return {std::move(problems), std::move(kernels), {}};
  }
  std::shared_ptr<rkernel::Device> device() const override { return gpu_.device; }
  std::int64_t panel_width(DType) const override { return 1; }
  void pack(const rkernel::PackedLayout&, const rkernel::MatrixElements&, std::int64_t,
            std::int64_t, void*) const override {}

 private:
  void narrow(std::vector<rkernel::Problem>& problems, const rkernel::BufferFacts& buffers) const {
    std::set<graph::ValueId> shared;  // with the host
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (gpu_.on_device(i)) continue;
      for (const rkernel::Operand& operand : problems[i].operands) shared.insert(operand.buffer);
    }
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (!gpu_.on_device(i)) continue;
      for (rkernel::Operand& operand : problems[i].operands) {
        const bool own = !buffers.port(operand.buffer) && !shared.contains(operand.buffer);
        if (operand.dtype == DType::f32 && (buffers.constant(operand.buffer) || own))
          operand.dtype = gpu_.precision;
      }
    }
  }

  FakeGpu gpu_;
};

}  // namespace

runtime::TargetFactory fake_gpu(const FakeGpu& gpu) {
  return [gpu](const Options& options, int threads, const Dump& dump) {
    return runtime::with_fallback(std::make_shared<FakeGpuTarget>(gpu), [options, threads, dump] {
      return make_fake_target(options, threads, dump);
    });
  };
}

}  // namespace dyn::testing
