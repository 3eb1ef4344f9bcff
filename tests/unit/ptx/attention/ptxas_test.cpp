// Kernels of attention are PTX that the assembler takes, without spills: all tiles that a GPU's
// numbers give.

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <vector>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"

using namespace dyn;
using namespace dyn::ptx::testing;
using choice::GpuAttentionTile;

namespace {

AttentionCase heaviest(const GpuAttentionTile& tile, ptx::Copy copy, bool heads_as_rows) {
  AttentionCase c;
  c.tile = tile;
  c.q = c.k = c.v = copy;
  c.dtype = copy == ptx::Copy::Vectors ? tile.operands : DType::f32;
  c.m = c.n = c.keys = c.d = 8;
  c.causal = true;
  c.mask = MaskForm::Full;
  c.bias = c.residual = true;
  c.shares_rows = true;
  c.heads_as_rows = heads_as_rows;
  return c;
}

/// The most registers that the assembler gives the kernel on any of these GPUs; it must not spill.
int registers_of(const AttentionCase& c, std::span<const char* const> gpus, std::string& all) {
  llvm::LLVMContext context;
  const BuiltAttention built(c);
  const std::string text =
      ptx::lower_to_ptx(*ptx::emit_device_module(context, built.source(), "attention"));
  return dyn::test::checked_registers(text, to_string(c), gpus, all);
}

/// As much shared memory as compute capability 8.6 and 8.9 have.
choice::GpuMachine small_gpu() {
  choice::GpuMachine machine = ptx::described_gpu("a100");
  machine.shared_bytes_per_block = 99 * 1024;
  return machine;
}

std::vector<GpuAttentionTile> all_attention_tiles() {
  struct Precision {
    DType operands;
    bool tf32;
  };
  std::vector<GpuAttentionTile> all;
  for (const auto& [operands, tf32] :
       {Precision{DType::bf16, false}, Precision{DType::f32, true}, Precision{DType::f32, false}}) {
    for (const int room : {32, 64, 96, 128, 192, 256}) {
      for (const choice::GpuMachine& machine :
           {ptx::described_gpu("a100"), ptx::described_gpu("h200"), small_gpu()}) {
        for (const GpuAttentionTile& tile :
             choice::gpu_attention_tiles(machine, operands, tf32, room, room)) {
          if (std::ranges::find(all, tile) == all.end()) all.push_back(tile);
        }
      }
    }
  }
  return all;
}

}  // namespace

TEST_SUITE("full") {
  // The cost model predicts occupancy from them.
  TEST_CASE(
      "kernels of attention assemble for every GPU without spills, in the registers of their "
      "tiles") {
    if (dyn::test::ptxas_is_missing()) return;
    int kernels = 0;
    const std::span<const char* const> gpus = dyn::test::ptxas_gpus();
    dyn::testing::Sweep sweep(72);
    for (const GpuAttentionTile& tile : all_attention_tiles()) {
      for (const int form : {0, 1, 2, 3}) {
        std::vector<const char*> drawn;
        std::ranges::copy_if(gpus, std::back_inserter(drawn), [&](auto) { return sweep.takes(); });
        if (drawn.empty()) continue;
        ++kernels;
        const ptx::Copy copy = form % 2 == 0 ? ptx::Copy::Vectors : ptx::Copy::Elements;
        const bool heads_as_rows = form > 1;
        std::string registers;
        const int most = registers_of(heaviest(tile, copy, heads_as_rows), drawn, registers);
        std::printf("%s, %s%s: registers%s, %d predicted\n", tile.to_string().c_str(),
                    copy == ptx::Copy::Vectors ? "vectors" : "elements",
                    heads_as_rows ? ", heads as rows" : "", registers.c_str(), tile.registers());
        CHECK_MESSAGE(most <= tile.registers(), tile.to_string());
      }
    }
    CHECK(kernels > 0);
    std::printf("note: ptxas assembled %d kernels of attention\n", kernels);
  }
}
