#include "tests/unit/ptx/loop/emulated_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/coverage.hpp"
#include "tests/support/emulated.hpp"

namespace dyn::test {

namespace {

Emulated& emulated() {
  static Emulated device;
  return device;
}

void count_dtypes(const rkernel::Problem& problem, const testing::EmulatorRun& counted) {
  std::set<DType> dtypes;
  for (const rkernel::Operand& operand : problem.operands) dtypes.insert(operand.dtype);
  for (const DType dtype : dtypes) counted.edge(std::string(name_of(dtype)));
}

}  // namespace

choice::GpuMachine test_gpu(int multiprocessors) {
  choice::GpuMachine machine;
  machine.name = "test";
  machine.multiprocessors = multiprocessors;
  machine.clock_hz = 1.41e9;
  machine.shared_bytes_per_multiprocessor = 164 * 1024;
  machine.shared_bytes_per_block = 163 * 1024;
  machine.f32_fma = 64;
  machine.l2_bytes = 40 << 20;
  machine.memory_bytes = std::int64_t{40} << 30;
  machine.l2_bytes_per_second = 4e12;
  machine.memory_bytes_per_second = 1.5e12;
  machine.launch_seconds = 2e-6;
  machine.memory_latency_seconds = 5e-7;
  return machine;
}

EmulatedLoop run_emulated(const testing::ProblemBuilder& builder, const choice::GpuMachine& machine,
                          const Contents& initial, std::int64_t most_blocks) {
  auto draft = ptx::LoopKernel::draft(builder.problem, machine, "ptx/test");
  REQUIRE(draft.has_value());
  rkernel::CompileReport report;
  auto functions = emulated().emulator().load(draft->sources(), 1, report);
  const auto kernel = (*std::move(draft)).with_code(std::move(functions));
  EmulatedLoop result{initial, 0, kernel->plan({builder.values, 1}), {}};
  rkernel::Grid& grid = result.launch.grid;
  grid.blocks = std::min(grid.blocks, most_blocks);
  if (grid.blocks == 0) return result;
  const testing::EmulatorRun counted(builder.problem.has_reduction() ? "reductions"
                                                                     : "element-wise");
  count_dtypes(builder.problem, counted);
  counted.edge("blocks cut short", grid.blocks == most_blocks);
  counted.edge("shared memory", grid.shared_bytes > 0);
  std::vector<EmulatedBuffer> buffers;
  for (std::size_t i = 0; i < initial.size(); ++i)
    buffers.push_back(
        {result.outputs[i].data(), result.outputs[i].size(), builder.problem.operands[i].written});
  result.reports = text_of(emulated().launch(grid.function, grid.blocks, grid.threads,
                                             grid.shared_bytes, buffers, result.launch.ints));
  result.status = emulated().status();
  return result;
}

ptx::KernelCounters counters_of(const testing::ProblemBuilder& builder,
                                const choice::GpuMachine& machine) {
  const Contents initial = testing::random_contents(builder, 1, false, {});
  emulated().emulator().set_counting(true);
  const EmulatedLoop run = run_emulated(builder, machine, initial);
  emulated().emulator().set_counting(false);
  const std::vector<ptx::KernelCounters> all = emulated().emulator().take_counters();
  INFO(run.reports);
  REQUIRE(run.reports.empty());
  REQUIRE(all.size() == 1);
  return all.front();
}

rkernel::Launch check_emulated(const testing::ProblemBuilder& builder,
                               const choice::GpuMachine& machine, unsigned seed, double tolerance,
                               bool specials,
                               const std::map<int, std::vector<std::uint8_t>>& given) {
  CAPTURE(builder.problem.name);
  CAPTURE(seed);
  CAPTURE(builder.extents);
  const Contents initial = testing::random_contents(builder, seed, specials, given);
  const EmulatedLoop got = run_emulated(builder, machine, initial);
  CAPTURE(got.reports);
  REQUIRE(got.reports.empty());
  REQUIRE(got.status == 0);
  const Contents wanted = testing::interpreted(builder, initial);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    testing::require_close(builder, static_cast<int>(i), got.outputs[i], wanted[i], tolerance);
  const EmulatedLoop again = run_emulated(builder, machine, initial, 2);
  CAPTURE(again.reports);
  REQUIRE(again.reports.empty());
  REQUIRE(again.outputs == got.outputs);
  return got.launch;
}

}  // namespace dyn::test
