#include "tests/unit/ptx/attention/attention_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>

#include "targets/ptx/attention/kernel.hpp"
#include "tests/support/coverage.hpp"

namespace dyn::ptx::testing {
namespace {

void count_edges(const AttentionCase& c, const dyn::testing::EmulatorRun& counted) {
  counted.edge("rows cut", rows_of_tiles(c) % c.tile.block_m != 0);
  counted.edge("keys cut", c.keys % c.tile.block_keys() != 0);
  counted.edge("no keys", c.keys == 0);
  counted.edge("causal", c.causal);
  counted.edge("causal, rows that see nothing", c.causal && c.m > c.keys);
  counted.edge("mask", c.mask != MaskForm::None);
  counted.edge("hidden rows", c.hides_rows);
  counted.edge("hidden by the least number", c.mask != MaskForm::None && c.hides_by_least);
  const bool as_rows = c.heads_as_rows && sharing_heads(c) > 1;
  counted.edge("heads that share keys", sharing_heads(c) > 1);
  counted.edge("heads as rows", as_rows);
  counted.edge("heads as rows, several queries, causal", as_rows && c.causal && c.m > 1);
  counted.edge("heads as rows, a mask of each", as_rows && c.mask == MaskForm::Full);
  counted.edge("heads as rows, a query cut by tiles", as_rows &&
                                                          c.tile.block_m % sharing_heads(c) != 0 &&
                                                          rows_of_tiles(c) > c.tile.block_m);
  counted.edge("heads as rows, parts of keys", as_rows && c.parts.count > 1);
  counted.edge("blocks of columns", c.n > c.tile.width);
  counted.edge("parts of keys", c.tile.parts > 1);
  counted.edge("rows shared by blocks", c.parts.count > 1);
  counted.edge("rows shared, causal", c.parts.count > 1 && c.causal);
  counted.edge("vector copies", c.q == Copy::Vectors);
  counted.edge("epilogue", c.bias || c.residual);
}

struct GridOfRun {
  std::int64_t blocks;
  int threads, shared_bytes;
  std::size_t part_memory;  ///< that blocks share
};

std::vector<std::uint8_t> launched(const BuiltAttention& built, const Contents& contents,
                                   const void* function, const GridOfRun& grid,
                                   const std::vector<std::int64_t>& ints) {
  Contents own = contents;
  std::vector<dyn::test::EmulatedBuffer> buffers;
  for (std::size_t i = 0; i < own.size(); ++i)
    buffers.push_back({own[i].data(), own[i].size(), built.operands[i].written});
  std::vector<std::uint8_t> parts(grid.part_memory);
  if (!parts.empty()) buffers.push_back(dyn::test::written_buffer(parts));
  const std::string faults = dyn::test::text_of(attention_device().launch(
      function, grid.blocks, grid.threads, grid.shared_bytes, buffers, ints));
  REQUIRE_MESSAGE(faults.empty(), faults);
  const auto counters = std::span(parts).first(std::min(parts.size(), rkernel::counter_bytes));
  CHECK(std::ranges::count(counters, 0) == std::ssize(counters));
  return own.back();
}

}  // namespace

dyn::test::Emulated& attention_device() {
  static dyn::test::Emulated device;
  return device;
}

std::vector<std::uint8_t> run_attention(const BuiltAttention& built, const Contents& contents,
                                        int blocks) {
  const AttentionCase& c = built.form;
  const bool cuda = c.tile.engine == choice::Engine::CudaCores;
  const dyn::testing::EmulatorRun counted(std::string("attention on ") +
                                          (cuda ? "CUDA cores" : "tensor cores"));
  count_edges(c, counted);
  rkernel::CompileReport report;
  const codegen::KernelSource source = built.source();
  const void* function =
      attention_device().emulator().load(std::span(&source, 1), 1, report).front();
  return launched(built, contents, function,
                  {blocks, c.tile.threads(), c.tile.shared_bytes(), built.part_memory()},
                  built.ints());
}

PlannedRun run_planned(const BuiltAttention& built, const Contents& contents,
                       const choice::GpuMachine& machine) {
  const dyn::testing::EmulatorRun counted("attention as planned");
  const choice::GpuAttentionTile& tile = built.form.tile;
  auto draft = GpuAttentionKernel::draft(
      built.builder.problem, machine, tile.operands,
      tile.engine == choice::Engine::TensorCores && tile.operands == DType::f32, "emulator/test");
  REQUIRE(draft.has_value());
  rkernel::CompileReport report;
  auto functions = attention_device().emulator().load(draft->sources(), 1, report);
  const auto kernel = (*std::move(draft)).with_code(std::move(functions));
  PlannedRun run{kernel->plan({built.builder.values, 1}), {}};
  const rkernel::Grid& grid = run.launch.grid;
  run.output = launched(built, contents, grid.function,
                        {grid.blocks, grid.threads, grid.shared_bytes, run.launch.shared_bytes},
                        run.launch.ints);
  return run;
}

}  // namespace dyn::ptx::testing
