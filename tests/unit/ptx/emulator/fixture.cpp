#include "tests/unit/ptx/emulator/fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::test {
namespace {

std::string declaration(llvm::LLVMContext& context, const ptx::DeviceOp& op) {
  const llvm::FunctionType* type = ptx::function_type(context, op);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "declare " << *type->getReturnType() << " @" << op.name << "(";
  for (unsigned i = 0; i < type->getNumParams(); ++i)
    stream << (i == 0 ? "" : ", ") << *type->getParamType(i);
  stream << ")\n";
  return text;
}

}  // namespace

std::string KernelText::module() const {
  llvm::LLVMContext context;
  std::string text =
      "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\ntarget triple = "
      "\"nvptx64-nvidia-cuda\"\n";
  for (const ptx::DeviceOp& op : ptx::device_ops()) text += declaration(context, op);
  text +=
      "define void @kernel(ptr addrspace(1) %pointers, ptr addrspace(1) %ints, ptr addrspace(1) "
      "%status) #0 {\nentry:\n";
  for (int i = 0; i < operands; ++i) {
    text += fmt::format(
        "  %a{0} = getelementptr ptr addrspace(1), ptr addrspace(1) %pointers, i64 {0}\n", i);
    text += fmt::format("  %p{0} = load ptr addrspace(1), ptr addrspace(1) %a{0}, align 8\n", i);
  }
  text +=
      "  %t = call i32 @dyn.dev.tid()\n  %lane = call i32 @dyn.dev.laneid()\n  %b = call i32 "
      "@dyn.dev.ctaid()\n";
  text += "  %shared = call ptr addrspace(3) @dyn.dev.shared()\n" + body + "\n}\n";
  return text + fmt::format(
                    "attributes #0 = {{ nounwind \"dyn.threads\"=\"{}\" \"dyn.shared\"=\"{}\" }}\n",
                    threads, shared_bytes);
}

KernelText KernelText::with(const std::string& from, const std::string& to) const {
  KernelText changed = *this;
  std::size_t at = changed.body.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  for (; at != std::string::npos; at = changed.body.find(from, at + to.size()))
    changed.body.replace(at, from.size(), to);
  return changed;
}

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
