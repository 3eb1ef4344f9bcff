#include "tests/support/device/kernel_text.hpp"

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBufferRef.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <stdexcept>

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

std::string KernelText::module(const std::string& symbol) const {
  llvm::LLVMContext context;
  std::string text = fmt::format("target datalayout = \"{}\"\ntarget triple = \"{}\"\n",
                                 ptx::device_data_layout, ptx::device_triple);
  for (const ptx::DeviceOp& op : ptx::device_ops()) text += declaration(context, op);
  text += fmt::format(
      "define void @{}(ptr addrspace(1) %pointers, ptr addrspace(1) %ints, ptr addrspace(1) "
      "%status) #0 {{\nentry:\n",
      symbol);
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

codegen::KernelSource KernelText::source() const {
  const auto emit = [kernel = *this](llvm::Module& module, const std::string& symbol) {
    const std::string text = kernel.module(symbol);
    llvm::SMDiagnostic diagnostic;
    if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "kernel"), &module, nullptr,
                                diagnostic))
      throw std::logic_error(diagnostic.getMessage().str() + " in\n" + text);
  };
  return {module(), emit};
}

KernelText KernelText::with(const std::string& from, const std::string& to) const {
  KernelText changed = *this;
  std::size_t at = changed.body.find(from);
  if (at == std::string::npos) throw std::logic_error("a kernel's body has no '" + from + "'");
  for (; at != std::string::npos; at = changed.body.find(from, at + to.size()))
    changed.body.replace(at, from.size(), to);
  return changed;
}

}  // namespace dyn::test
