#include "tests/unit/ptx/emulator/fixture.hpp"

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "targets/ptx/ir/device_module.hpp"

namespace dyn::test {
Emulated& shared_emulator() {
  static Emulated emulated;
  return emulated;
}

const void* load(const KernelText& kernel) {
  llvm::LLVMContext context;
  return shared_emulator().emulator().load_module(
      *ptx::parse_device_module(context, kernel.module()));
}

std::vector<ptx::FaultReport> run(const KernelText& kernel, std::span<const EmulatedBuffer> buffers,
                                  std::int64_t blocks, std::span<const std::int64_t> ints) {
  return shared_emulator().launch(load(kernel), blocks, kernel.threads, kernel.shared_bytes,
                                  buffers, ints);
}

void check_fault(const KernelText& kernel, ptx::Fault fault, const std::string& instruction,
                 std::initializer_list<EmulatedBuffer> buffers, std::int64_t blocks) {
  INFO(kernel.body);
  const std::vector<ptx::FaultReport> reports = run(kernel, buffers, blocks);
  INFO("reported: " << text_of(reports));
  REQUIRE(reports.size() == 1);
  CHECK(std::string(name_of(reports[0].fault)) == std::string(name_of(fault)));
  CHECK(reports[0].instruction.find(instruction) != std::string::npos);
  CHECK(!reports[0].text.empty());
}

void check_clean(const KernelText& kernel, std::initializer_list<EmulatedBuffer> buffers,
                 std::int64_t blocks) {
  INFO(kernel.body);
  const std::vector<ptx::FaultReport> reports = run(kernel, buffers, blocks);
  INFO("reported: " << text_of(reports));
  CHECK(reports.empty());
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) + 0.5f;
  return values;
}

}  // namespace dyn::test
