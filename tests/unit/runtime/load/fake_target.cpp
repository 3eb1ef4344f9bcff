#include "tests/unit/runtime/load/fake_target.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "src/rkernel/expr/narrow.hpp"
#include "tests/support/problems/problem_interpreter.hpp"

namespace dyn::testing {
namespace {

std::array<std::atomic<int>, 3> runs_of_programs;

/// ints: the address of the problem, then the symbols, then the number of the program, where it is
/// one of several. One ticket is the whole problem.
void interpret_kernel(const rkernel::KernelArgs* args, std::int64_t, std::int64_t, void*) {
  const auto& problem = *reinterpret_cast<const rkernel::Problem*>(args->ints[0]);
  std::map<graph::ValueId, void*> buffers;
  for (std::size_t i = 0; i < problem.operands.size(); ++i)
    buffers[problem.operands[i].buffer] = args->pointers[i];
  try {
    interpret(problem, {args->ints + 2, static_cast<std::size_t>(args->ints[1])}, buffers);
  } catch (const Error&) {
    args->status->store(static_cast<std::int32_t>(rkernel::Status::IndexOutOfRange));
  }
}

void interpret_program(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                       void* scratch) {
  ++runs_of_programs.at(static_cast<std::size_t>(args->ints[2 + args->ints[1]]));
  interpret_kernel(args, first, count, scratch);
}

class FakeKernel final : public rkernel::Kernel {
 public:
  explicit FakeKernel(const rkernel::Problem& problem) : problem_(problem) {}

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    rkernel::Launch launch;
    launch.function = interpret_kernel;
    launch.tickets = 1;
    launch.threads = request.threads;
    launch.ints = {reinterpret_cast<std::int64_t>(&problem_),
                   static_cast<std::int64_t>(request.symbols.size())};
    launch.ints.insert(launch.ints.end(), request.symbols.begin(), request.symbols.end());
    return launch;
  }
  rkernel::Choices choices(const rkernel::PlanRequest& request,
                           rkernel::Policy policy) const override {
    if (policy == rkernel::Policy::Vendor) return {{}, 0, "there is no vendor"};
    rkernel::Choices choices;
    for (std::int64_t program = 0; program < 3; ++program) {
      rkernel::Launch launch = plan(request);
      launch.ints.push_back(program);
      launch.function = interpret_program;
      launch.threads = program == 0 ? 1 : request.threads;
      choices.candidates.push_back(
          {"number " + std::to_string(program), std::nullopt, std::move(launch)});
    }
    choices.chosen = policy == rkernel::Policy::Dyn ? 0 : 2;
    return choices;
  }
  std::string explain(const rkernel::PlanRequest&) const override { return "one way"; }
  std::string target_name() const override { return "fake"; }
  std::string describe() const override { return rkernel::to_string(problem_); }

 private:
  rkernel::Problem problem_;
};

class FakeTarget final : public rkernel::Target {
 public:
  std::string name() const override { return "fake"; }
  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts&) override {
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
    for (const rkernel::Problem& problem : problems)
      kernels.push_back(std::make_unique<FakeKernel>(problem));
    rkernel::CompileReport report;
    report.kernels = static_cast<int>(kernels.size());
    return {std::move(problems), std::move(kernels), report};
  }
  std::int64_t panel_width(DType) const override { return 4; }
  std::string packing() const override { return "panels of 4"; }
  void pack(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& from,
            std::int64_t first_panel, std::int64_t last_panel, void* destination) const override {
    const std::int64_t k = layout.k, n = layout.n;
    auto* to = static_cast<float*>(destination);
    for (std::int64_t column = first_panel * 4; column < last_panel * 4; ++column) {
      for (std::int64_t row = 0; row < k; ++row) {
        float number = 0;
        if (column < n) rkernel::convert(from.dtype, from.at(row, column), DType::f32, &number, 1);
        to[column / 4 * k * 4 + row * 4 + column % 4] = number;
      }
    }
  }
};

}  // namespace

int runs_of_program(std::size_t program) { return runs_of_programs.at(program); }

std::shared_ptr<rkernel::Target> make_fake_target(const Options&, int, const Dump&) {
  return std::make_shared<FakeTarget>();
}

}  // namespace dyn::testing
