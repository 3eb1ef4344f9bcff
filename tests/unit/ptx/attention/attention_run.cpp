#include "tests/unit/ptx/attention/attention_run.hpp"

#include <doctest/doctest.h>

#include <span>

#include "tests/support/coverage.hpp"

namespace dyn::ptx::testing {
namespace {

void count_edges(const AttentionCase& c, const dyn::testing::EmulatorRun& counted) {
  counted.edge("rows cut", c.m % c.tile.block_m != 0);
  counted.edge("keys cut", c.keys % c.tile.block_keys() != 0);
  counted.edge("no keys", c.keys == 0);
  counted.edge("causal", c.causal);
  counted.edge("causal, rows that see nothing", c.causal && c.m > c.keys);
  counted.edge("mask", c.mask != MaskForm::None);
  counted.edge("hidden rows", c.hides_rows);
  counted.edge("grouped heads", c.group > 1);
  counted.edge("blocks of columns", c.n > c.tile.width);
  counted.edge("parts of keys", c.tile.parts > 1);
  counted.edge("vector copies", c.q == Copy::Vectors);
  counted.edge("epilogue", c.bias || c.residual);
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
  Contents own = contents;
  std::vector<dyn::test::EmulatedBuffer> buffers;
  for (std::size_t i = 0; i < own.size(); ++i)
    buffers.push_back({own[i].data(), own[i].size(), built.operands[i].written});
  const std::string faults = dyn::test::text_of(attention_device().launch(
      function, blocks, c.tile.threads(), c.tile.shared_bytes(), buffers, built.ints()));
  REQUIRE_MESSAGE(faults.empty(), faults);
  return own.back();
}

}  // namespace dyn::ptx::testing
