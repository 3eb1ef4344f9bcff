// Machine code of the kernels of matrix products: how much of a main loop multiplies.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdio>
#include <regex>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "targets/ptx/tile/window_layout.hpp"
#include "tests/support/machine_code.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_case.hpp"

using namespace dyn;
using namespace dyn::ptx::testing;
using dyn::choice::Engine;

namespace {

MatmulCase copied_in_vectors(const choice::GpuTile& tile, bool windows) {
  MatmulCase c;
  c.tile = tile;
  c.a = c.b = tile.operands;
  if (tile.integers()) c.output = DType::i32;
  c.a_copy = c.b_copy = ptx::Copy::Vectors;
  c.bias = true;
  c.split = tile.can_be_shared();
  if (!windows) return c;
  set_windows(c, {});
  c.tile.window_entry_bytes = ptx::window_entry_bytes(build(c).problem);
  return c;
}

/// The module without what copies tiles at a matrix's edge: blocks inside of it never run that.
std::unique_ptr<llvm::Module> inside(llvm::LLVMContext& context, const llvm::Module& module) {
  static const std::regex either(
      R"(br i1 %[0-9]+, label %(whole[0-9]*), label %whole\.else[0-9]*)");
  return ptx::parse_device_module(
      context, std::regex_replace(ptx::module_text(module), either, "br label %$1"));
}

/// What multiplies.
std::string kind_of(const choice::GpuTile& tile) {
  if (tile.engine == Engine::CudaCores) return "FFMA";
  return tile.integers() ? "IMMA" : "HMMA";
}

test::MachineCode code_of(const MatmulCase& c, const char* gpu) {
  llvm::LLVMContext context, edited;
  const BuiltMatmul built = build(c);
  const auto module = ptx::emit_device_module(context, source_of(built), "matmul");
  return test::machine_code(ptx::lower_to_ptx(*inside(edited, *module)), gpu, kind_of(c.tile));
}

/// Multiplications of one warp and stage.
int multiplications(const choice::GpuTile& tile) {
  const int products = tile.warp_m * tile.warp_n * tile.block_k;
  if (tile.engine == Engine::CudaCores) return products / choice::warp_lanes;
  return products / (16 * 8 * choice::mma_depth(tile.operands));
}

/// Instructions that neither multiply nor bring operands, or put their bytes in order: waits,
/// arrivals, counters, addresses.
int others(const test::InstructionTally& loop, const std::string& kind) {
  constexpr int copy = 4;  // with its address
  return loop.all() - loop[kind] - loop["LDSM"] - loop["LDS"] - loop["PRMT"] -
         copy * loop["LDGSTS"];
}

/// Calibration::gpu_stage_instructions, and a few; where fragments are loaded ahead, the places of
/// the next stage's; of windows, more for each copy of A.
int most_others(const MatmulCase& c) {
  constexpr int plain = 60, ahead = 4, step = 30, of_copy = 9;
  const int all = plain + (c.tile.ahead ? ahead : 0);
  if (!c.windows) return all;
  return all + step +
         of_copy * (c.tile.a_stage_bytes() / 16 + c.tile.threads() - 1) / c.tile.threads();
}

}  // namespace

TEST_SUITE("full") {
  TEST_CASE("machine code: main loops of all tiles multiply, and issue little else") {
    if (test::nvdisasm_is_missing()) return;
    dyn::testing::Sweep sweep(6);
    for (const choice::GpuTile& tile : candidate_tiles({DType::f32, DType::bf16, DType::i8})) {
      for (const bool windows : {false, true}) {
        for (const char* gpu : {"sm_80", "sm_90"}) {
          if (!sweep.takes()) continue;
          const MatmulCase c = copied_in_vectors(tile, windows);
          INFO(to_string(c) << " for " << std::string(gpu));
          const test::MachineCode code = code_of(c, gpu);
          const std::string kind = kind_of(tile);
          const int multiplied = code.main_loop[kind], all = code.main_loop.all();
          std::printf(
              "%s%s, %s: %d of %d multiply, LDSM %d LDS %d PRMT %d LDGSTS %d, %d registers\n",
              c.tile.to_string().c_str(), windows ? ", windows" : "", gpu, multiplied, all,
              code.main_loop["LDSM"], code.main_loop["LDS"], code.main_loop["PRMT"],
              code.main_loop["LDGSTS"], code.registers);
          CHECK(multiplications(tile) % multiplied == 0);
          CHECK(code.spill_bytes == 0);
          CHECK(code.main_loop["LDL"] + code.main_loop["STL"] == 0);
          CHECK(others(code.main_loop, kind) <= most_others(c));
        }
      }
    }
  }
}
