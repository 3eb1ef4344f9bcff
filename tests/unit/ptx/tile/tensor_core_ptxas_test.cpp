// Tensor-core kernels assemble for every GPU and keep all accumulators in registers.

#include <doctest/doctest.h>

#include <cstdio>

#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/tile/tensor_core_kernel.hpp"

using namespace dyn;
using namespace dyn::test;

TEST_SUITE("full") {
  TEST_CASE("tensor cores: kernels assemble without spills") {
    if (ptxas_is_missing()) return;
    int assembled = 0, kernels = 0, most_registers = 0;
    dyn::testing::Sweep sweep(5);
    for (const dyn::choice::GpuTile& tile : tensor_core_tiles()) {
      for (const ptx::BOrder order : b_orders) {
        if (!sweep.takes()) continue;
        ++kernels;
        llvm::LLVMContext context;
        const std::string text = ptx::lower_to_ptx(*tensor_core_kernel(context, tile, order, 4));
        for (const char* gpu : ptxas_gpus()) {
          const Assembled result = assemble(text, gpu);
          INFO(name_of(tile, order) << " for " << std::string(gpu) << "\n" << result.log);
          CHECK(result.ok);
          CHECK(result.spill_bytes == 0);
          CHECK(result.stack_bytes == 0);
          CHECK(result.registers >= tile.warp_m * tile.warp_n / 32);
          assembled += result.ok;
          most_registers = std::max(most_registers, result.registers);
        }
      }
    }
    CHECK(kernels > 0);
    CHECK(assembled == kernels * static_cast<int>(ptxas_gpus().size()));
    std::printf("note: ptxas assembled %d tensor-core kernels, %d registers at most\n", assembled,
                most_registers);
  }
}
