// Kernels of matrix products are PTX that the assembler takes, without spills: all tiles that a
// GPU's numbers give.

#include <doctest/doctest.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "targets/ptx/tile/window_layout.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_case.hpp"

using namespace dyn;
using namespace dyn::ptx::testing;
using dyn::choice::Engine;

namespace {

MatmulCase with_epilogue(const dyn::choice::GpuTile& tile, ptx::Copy copy, ptx::BOrder order) {
  MatmulCase c;
  c.tile = tile;
  c.a = c.b = tile.operands;
  c.a_copy = c.b_copy = copy;
  c.b_order = order;
  c.bias = c.gelu = true;
  c.residual = !tile.integers();
  if (tile.integers()) c.a = c.output = DType::u8;
  c.split = tile.can_be_shared();
  return c;
}

/// The most registers that the assembler gives a kernel on any of these GPUs.
int checked_registers(const MatmulCase& c, std::span<const char* const> gpus, std::string& all) {
  llvm::LLVMContext context;
  const BuiltMatmul built = build(c);
  const std::string text =
      ptx::lower_to_ptx(*ptx::emit_device_module(context, source_of(built), "matmul"));
  return dyn::test::checked_registers(text, to_string(c), gpus, all);
}

/// The forms in which a tile is used; elements are f32 whatever the tile's dtype, or bytes.
std::vector<MatmulCase> forms(const dyn::choice::GpuTile& tile) {
  using enum ptx::Copy;
  using enum ptx::BOrder;
  std::vector<MatmulCase> cases{with_epilogue(tile, Elements, RowsAlongN),
                                with_epilogue(tile, Vectors, RowsAlongN)};
  if (!tile.integers()) cases.front().a = cases.front().b = DType::f32;
  if (tile.engine == Engine::TensorCores) cases.push_back(with_epilogue(tile, Vectors, RowsAlongK));
  return cases;
}

}  // namespace

TEST_SUITE("full") {
  // The cost model predicts occupancy from the estimate: it should not be far below the assembler's
  // number on any GPU, nor above.
  TEST_CASE("the registers of a tile are predicted within 24 of what the assembler takes") {
    if (dyn::test::ptxas_is_missing()) return;
    constexpr int tolerance = 24;
    dyn::testing::Sweep sweep(6);
    for (const dyn::choice::GpuTile& tile : candidate_tiles({DType::f32, DType::bf16, DType::i8})) {
      if (!sweep.takes()) continue;
      int most = 0;
      std::string registers;
      for (const MatmulCase& c : forms(tile)) {
        if (c.a_copy != ptx::Copy::Vectors) continue;
        llvm::LLVMContext context;
        const BuiltMatmul built = build(c);
        const std::string text =
            ptx::lower_to_ptx(*ptx::emit_device_module(context, source_of(built), "matmul"));
        for (const char* gpu : dyn::test::ptxas_gpus()) {
          const int taken = dyn::test::assemble(text, gpu).registers;
          most = std::max(most, taken);
          registers += " " + std::to_string(taken);
        }
      }
      std::printf("%s: registers%s, %d predicted\n", tile.to_string().c_str(), registers.c_str(),
                  tile.registers());
      CHECK_MESSAGE(std::abs(tile.registers() - most) <= tolerance, tile.to_string());
    }
  }

  TEST_CASE("kernels of matrix products assemble for every GPU without spills") {
    if (dyn::test::ptxas_is_missing()) return;
    int kernels = 0;
    dyn::testing::Sweep sweep(6);
    for (const dyn::choice::GpuTile& tile : candidate_tiles({DType::f32, DType::bf16, DType::i8})) {
      for (const MatmulCase& c : forms(tile)) {
        if (!sweep.takes()) continue;
        ++kernels;
        std::string registers;
        checked_registers(c, dyn::test::ptxas_gpus(), registers);
        std::printf("%s, %s: registers%s, %d predicted\n", to_string(build(c).shape_class).c_str(),
                    std::string(name_of(c.a)).c_str(), registers.c_str(), tile.registers());
      }
    }
    CHECK(kernels > 0);
    std::printf("note: ptxas assembled %d kernels of matrix products, each for every GPU\n",
                kernels);
  }

  TEST_CASE("kernels of windows assemble for every GPU without spills") {
    if (dyn::test::ptxas_is_missing()) return;
    int kernels = 0;
    dyn::testing::Sweep sweep(6);
    for (const dyn::choice::GpuTile& tile : candidate_tiles({DType::f32, DType::bf16, DType::i8})) {
      for (const ptx::Copy copy : {ptx::Copy::Elements, ptx::Copy::Vectors}) {
        if (!sweep.takes()) continue;
        MatmulCase c = with_epilogue(tile, copy, ptx::BOrder::RowsAlongN);
        if (copy == ptx::Copy::Elements && !tile.integers()) c.a = c.b = DType::f32;
        set_windows(c, {.outside = tile.integers() ? 114 : 0});
        c.tile.window_entry_bytes = ptx::window_entry_bytes(build(c).problem);
        ++kernels;
        std::string registers;
        const int most = checked_registers(c, dyn::test::ptxas_gpus(), registers);
        if (copy == ptx::Copy::Vectors)
          CHECK_MESSAGE(std::abs(c.tile.registers() - most) <= 24, to_string(c));
        std::printf("windows, %s, %s: registers%s, %d predicted\n",
                    to_string(build(c).shape_class).c_str(), std::string(name_of(c.a)).c_str(),
                    registers.c_str(), c.tile.registers());
      }
    }
    CHECK(kernels > 0);
  }

  TEST_CASE(
      "kernels of two tiles assemble without spills, with the registers of the tile that needs "
      "more") {
    if (dyn::test::ptxas_is_missing()) return;
    constexpr int tolerance = 24;
    dyn::testing::Sweep sweep(6);
    const auto check = [&](const char* gpu, std::span<const char* const> architectures) {
      for (const auto& [first, second] : candidate_pairs(gpu, {DType::f32, DType::bf16})) {
        const int predicted = std::max(first.registers(), second.registers());
        for (MatmulCase c : forms(first)) {
          if (!sweep.takes()) continue;
          c.second = second;
          c.split = false;
          std::string registers;
          const int most = checked_registers(c, architectures, registers);
          std::printf("%s: registers%s, %d predicted\n", to_string(build(c).shape_class).c_str(),
                      registers.c_str(), predicted);
          if (c.a_copy == ptx::Copy::Vectors)
            CHECK_MESSAGE(std::abs(predicted - most) <= tolerance, to_string(c));
        }
      }
    };
    const std::span<const char* const> all = dyn::test::ptxas_gpus();
    check("a100", all);
    check("h200", all.subspan(1));  // its tiles are not for sm_80
  }
}
