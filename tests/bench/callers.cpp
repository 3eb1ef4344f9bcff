// dyn-bench-callers MODEL.dyn THREADS CALLERS SECONDS NAME=VALUE...: the throughput of many callers
// of one graph at once, against that of one. Rounds of both alternate, so that a machine that
// changes its speed changes both. Weights and inputs are random.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "src/base/statistics.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/session.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/run/call_state.hpp"

namespace {

using namespace dyn;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 5;

struct Caller {
  Caller(std::shared_ptr<const runtime::Model> model, const std::vector<Tensor>& inputs)
      : call(std::move(model)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
    call.run();
  }
  runtime::CallState call;
};

/// Runs per second of all callers together.
double throughput(std::vector<std::unique_ptr<Caller>>& callers, std::size_t count,
                  double seconds) {
  std::atomic<std::int64_t> runs{0};
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto work = [&](Caller& caller) {
    std::int64_t own = 0;
    do {
      caller.call.run();
      ++own;
    } while (Clock::now() < end);
    runs += own;
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < count; ++i) others.emplace_back([&, i] { work(*callers[i]); });
    work(*callers[0]);
  }
  return static_cast<double>(runs.load()) /
         std::chrono::duration<double>(Clock::now() - start).count();
}

void bench(const cli::Arguments& arguments, std::size_t count, double seconds) {
  const auto model = cli::load_model(arguments);
  const runtime::Helpers& helpers =
      dynamic_cast<const runtime::PlannedExecutable&>(model->executable()).runs().helpers();
  fmt::print(
      "| shape | callers | runs/s | of one caller | stages/run | without a helper "
      "|\n|---|---|---|---|---|---|\n");
  for (const std::vector<std::int64_t>& symbols : cli::requested_shapes(*model, arguments, {})) {
    const std::vector<Tensor> inputs = cli::make_inputs(*model, symbols, {}, 1);
    std::vector<std::unique_ptr<Caller>> callers;
    for (std::size_t i = 0; i < count; ++i)
      callers.push_back(std::make_unique<Caller>(model, inputs));
    throughput(callers, 1, seconds / 4);
    std::vector<double> one, many;
    runtime::StageCounts stages;
    double runs = 0;
    for (int round = 0; round < rounds; ++round) {
      const runtime::StageCounts before = helpers.counts();
      one.push_back(throughput(callers, 1, seconds));
      runs += one.back() * seconds;
      stages.stages += helpers.counts().stages - before.stages;
      stages.alone += helpers.counts().alone - before.alone;
      many.push_back(throughput(callers, count, seconds));
    }
    std::string shape;
    for (const auto& [name, value] : cli::named_dims(*model, symbols))
      shape += fmt::format("{}{}={}", shape.empty() ? "" : " ", name, value);
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round)
      ratios.push_back(many[static_cast<std::size_t>(round)] /
                       one[static_cast<std::size_t>(round)]);
    const double of_stages =
        stages.stages > 0 ? static_cast<double>(stages.alone) / static_cast<double>(stages.stages)
                          : 0;
    fmt::print("| {} | 1 | {:.1f} | | {:.1f} | {:.4f} |\n", shape, percentile(one, 50),
               static_cast<double>(stages.stages) / runs, of_stages);
    fmt::print("| {} | {} | {:.1f} | {:.3f} | | |\n", shape, count, percentile(many, 50),
               percentile(ratios, 50));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: {} MODEL.dyn THREADS CALLERS SECONDS [NAME=VALUE...]\n", argv[0]);
    return 2;
  }
  try {
    cli::Arguments arguments;
    arguments.model = argv[1];
    arguments.options.threads = std::atoi(argv[2]);
    arguments.options.random_weights = true;
    arguments.dims.assign(argv + 5, argv + argc);
    bench(arguments, static_cast<std::size_t>(std::max(1, std::atoi(argv[3]))), std::atof(argv[4]));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
