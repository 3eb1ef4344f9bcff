#include "src/runtime/plan/oracle.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/executables/executable.hpp"
#include "src/runtime/run/call_state.hpp"
#include "src/runtime/weights/random_weights.hpp"

namespace dyn::runtime {
namespace {

constexpr int rounds = 3;
constexpr double near_best = 1.3;  // programs within this factor of the best run again
constexpr std::uint64_t seed = 1;  // for inputs and orders: any will do

std::vector<Tensor> valid_inputs(const Executable& executable,
                                 std::span<const std::int64_t> symbols) {
  const std::vector<Shape> shapes = executable.binder().input_shapes(symbols);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const DType dtype = executable.info().inputs[i].dtype;
    Tensor& tensor = tensors.emplace_back(dtype, shapes[i]);
    if (dtype == DType::f32) fill_random(dtype, seed + i, {}, 0, tensor.size(), tensor.raw());
  }
  return tensors;
}

/// What is still to run of one group in the present round, in random order.
std::vector<std::size_t> order_of(const MeasuredGroup& measured, int round,
                                  std::mt19937_64& generator) {
  std::vector<std::size_t> order;
  const double limit = round == 0 ? std::numeric_limits<double>::infinity()
                                  : near_best * measured.seconds[measured.best()];
  for (std::size_t program = 0; program < measured.seconds.size(); ++program) {
    if (round == 0 || measured.seconds[program] <= limit) order.push_back(program);
  }
  std::shuffle(order.begin(), order.end(), generator);
  return order;
}

void measure_round(const Executable& executable, CallState& call, const Plan& base, int round,
                   std::vector<MeasuredGroup>& groups, std::mt19937_64& generator) {
  std::vector<std::vector<std::size_t>> orders;
  std::size_t runs = 0;
  for (const MeasuredGroup& group : groups) {
    orders.push_back(order_of(group, round, generator));
    runs = std::max(runs, orders.back().size());
  }
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<GroupLaunch> launches;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (run < orders[i].size())
        launches.push_back({groups[i].group, groups[i].candidates.programs[orders[i][run]].launch});
    }
    call.use_plan(with_launches(base, std::move(launches), executable.info().threads));
    RunProfile profile;
    call.run(&profile);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (run >= orders[i].size()) continue;
      double& least = groups[i].seconds[orders[i][run]];
      least = std::min(least, profile.group_seconds[groups[i].group]);
    }
  }
}

}  // namespace

std::size_t MeasuredGroup::best() const {
  return static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) -
                                  seconds.begin());
}

void require_measurable(const Executable& executable) {
  const Options& options = executable.info().options;
  if (options.device != "cpu") {
    throw Error(ErrorKind::unsupported,
                fmt::format("programs are measured on device 'cpu' only, not on '{}'; take another "
                            "policy than 'oracle' there (dynrun select "
                            "compares what is predicted for a GPU)",
                            options.device));
  }
  if (!executable.states().empty()) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("programs are measured by whole runs, and every run of '{}' would change its "
                    "state '{}'; take another policy than "
                    "'oracle' for a model with state",
                    executable.module().name,
                    executable.module().value(executable.states()[0].state).name));
  }
}

std::vector<MeasuredGroup> measure_groups(const Executable& executable, const PlanPtr& base,
                                          std::span<const std::size_t> groups) {
  std::vector<MeasuredGroup> measured;
  for (const std::size_t group : groups) {
    CandidateUnion candidates = all_candidates(*executable.groups().kernels[group],
                                               {base->symbols, executable.info().threads});
    if (candidates.programs.size() < 2) continue;
    const std::size_t count = candidates.programs.size();
    measured.push_back({group, std::move(candidates),
                        std::vector(count, std::numeric_limits<double>::infinity())});
  }
  if (measured.empty()) return measured;
  CallState call(executable);
  const std::vector<Tensor> inputs = valid_inputs(executable, base->symbols);
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
  call.use_plan(base);
  call.run();
  std::mt19937_64 generator(seed);
  for (int round = 0; round < rounds; ++round)
    measure_round(executable, call, *base, round, measured, generator);
  return measured;
}

PlanPtr measured_plan(const Executable& executable, const PlanPtr& base) {
  require_measurable(executable);
  std::vector<std::size_t> groups(base->launches.size());
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  std::vector<GroupLaunch> launches;
  for (const MeasuredGroup& measured : measure_groups(executable, base, groups)) {
    launches.push_back({measured.group, measured.candidates.programs[measured.best()].launch});
  }
  return with_launches(*base, std::move(launches), executable.info().threads);
}

Plans::Improve measurer_of(const Executable& executable) {
  if (rkernel::policy_named(executable.info().options.policy) != rkernel::Policy::Oracle) return {};
  return [&executable](const PlanPtr& made) { return measured_plan(executable, made); };
}

}  // namespace dyn::runtime
