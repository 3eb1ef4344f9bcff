// Every device operation is PTX that the assembler takes, for every GPU.

#include "tests/support/ptxas.hpp"

#include <doctest/doctest.h>

#include <cstdio>

#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

using namespace dyn;
using namespace dyn::test;

TEST_CASE("every device operation becomes its instruction") {
  for (const ptx::DeviceOp& op : ptx::device_ops()) {
    INFO(op.name);
    llvm::LLVMContext context;
    const std::string text = ptx::lower_to_ptx(*kernel_of(context, op));
    INFO(text);
    CHECK(text.find("dyn.dev") == std::string::npos);
    const bool declaration = op.ptx.starts_with('.');
    CHECK(text.find(declaration ? op.ptx : op.ptx.substr(0, op.ptx.find(' '))) !=
          std::string::npos);
  }
}

TEST_SUITE("full") {
  TEST_CASE("every device operation assembles for every GPU") {
    if (ptxas_is_missing()) return;
    int assembled = 0;
    for (const ptx::DeviceOp& op : ptx::device_ops()) {
      llvm::LLVMContext context;
      const std::string text = ptx::lower_to_ptx(*kernel_of(context, op));
      for (const char* gpu : ptxas_gpus()) {
        const Assembled result = assemble(text, gpu);
        INFO(op.name << " for " << std::string(gpu) << "\n" << text << "\n" << result.log);
        CHECK(result.ok);
        CHECK(result.registers > 0);
        CHECK(result.spill_bytes == 0);
        assembled += result.ok;
      }
    }
    CHECK(assembled == static_cast<int>(ptx::device_ops().size() * ptxas_gpus().size()));
    std::printf("note: ptxas assembled %d kernels of one device operation\n", assembled);
  }
}
