#include "targets/ptx/ptx_lowering.hpp"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <mutex>

#include "dyn/error.hpp"
#include "targets/ptx/device_module.hpp"
#include "targets/ptx/ptx_instructions.hpp"

namespace dyn::ptx {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string& triple) {
  initialize_llvm();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw Error(ErrorKind::internal, "LLVM has no NVPTX target: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // only llvm.fma is a fused multiply-add
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(triple, ptx_cpu, ptx_features, options, std::nullopt,
                                                                           std::nullopt, llvm::CodeGenOptLevel::Default, false));
  if (!machine) throw Error(ErrorKind::internal, std::string("LLVM cannot generate PTX for ") + ptx_cpu);
  return machine;
}

/// What LLVM reports while it generates code.
struct Diagnostics {
  std::string errors;
  static void handle(const llvm::DiagnosticInfo* info, void* self) {
    if (info->getSeverity() != llvm::DS_Error) return;
    llvm::raw_string_ostream stream(static_cast<Diagnostics*>(self)->errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    stream << '\n';
  }
};

/// A kernel for LLVM, of blocks with exactly so many threads (from which ptxas knows how many registers each may have), one of which, at
/// least, fits a multiprocessor: unless it is told so, ptxas spills rather than let fewer blocks fit.
void annotate(llvm::Module& module, const KernelShape& shape) {
  llvm::LLVMContext& context = module.getContext();
  auto* integer = llvm::Type::getInt32Ty(context);
  const auto add = [&](const char* property, int value) {
    llvm::Metadata* row[] = {llvm::ValueAsMetadata::get(module.getFunction(shape.symbol)), llvm::MDString::get(context, property),
                             llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(integer, static_cast<std::uint64_t>(value)))};
    module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, row));
  };
  add("kernel", 1);
  add("reqntidx", shape.threads);
  add("minctasm", 1);
}

}  // namespace

std::string lower_to_ptx(const llvm::Module& device_module, std::string* hash) {
  verify_device_module(device_module);
  if (hash != nullptr) *hash = module_hash(device_module);
  llvm::LLVMContext context;
  Diagnostics diagnostics;
  context.setDiagnosticHandlerCallBack(Diagnostics::handle, &diagnostics);
  const auto module = parse_device_module(context, module_text(device_module));
  annotate(*module, kernel_shape(*module));
  replace_device_ops(*module);

  const auto machine = make_machine(module->getTargetTriple());
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    throw Error(ErrorKind::internal, "LLVM cannot write PTX");
  }
  passes.run(*module);
  if (!diagnostics.errors.empty()) throw Error(ErrorKind::internal, "LLVM cannot generate PTX: " + diagnostics.errors);
  return ptx.str().str();
}

}  // namespace dyn::ptx
