// Machine code of the kernels of attention: what a step does beside both products.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdio>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/support/machine_code.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"

using namespace dyn;
using namespace dyn::ptx::testing;
using choice::GpuAttentionTile;

namespace {

/// Heads of 64 without a mask, all factors copied as vectors.
test::MachineCode code_of(const GpuAttentionTile& tile, const char* gpu) {
  AttentionCase c;
  c.tile = tile;
  c.q = c.k = c.v = ptx::Copy::Vectors;
  c.dtype = tile.operands;
  c.m = c.n = c.keys = c.d = 8;
  const BuiltAttention built(c);
  llvm::LLVMContext context;
  const auto module = ptx::emit_device_module(context, built.source(), "attention");
  return test::machine_code(ptx::lower_to_ptx(*module), gpu, "HMMA");
}

}  // namespace

TEST_SUITE("full") {
  TEST_CASE("machine code: softmax between the products of attention is a few instructions") {
    if (test::nvdisasm_is_missing()) return;
    for (const GpuAttentionTile& tile :
         choice::gpu_attention_tiles(ptx::described_gpu("a100"), DType::bf16, false, 64, 64)) {
      if (tile.engine != choice::Engine::TensorCores) continue;
      for (const char* gpu : {"sm_80", "sm_90"}) {
        const test::MachineCode code = code_of(tile, gpu);
        const test::InstructionTally& loop = code.main_loop;
        const int scores = tile.warp_m * tile.part_keys / choice::warp_lanes;
        // One e^x a score, and one for the rows of each lane.
        const int powers = loop["MUFU"];
        const int softmax = loop["FFMA"] + loop["FMUL"] + loop["FADD"] + loop["FMNMX"] + powers +
                            loop["F2FP"] + loop["SHFL"];
        std::printf("%s, %s: %d scores, HMMA %d LDSM %d softmax %d of %d, %d registers\n",
                    tile.to_string().c_str(), gpu, scores, loop["HMMA"], loop["LDSM"], softmax,
                    loop.all(), code.registers);
        INFO(tile.to_string() << " for " << std::string(gpu));
        CHECK(code.spill_bytes == 0);
        CHECK(powers >= scores);
        CHECK(powers <= scores + 2);
        // Scale, maximum, difference, product, e^x, sum, half a conversion; and the accumulators of
        // 64 columns, which each step multiplies.
        CHECK(softmax <= 7 * scores + tile.warp_m * tile.width / choice::warp_lanes + 16);
      }
    }
  }
}
