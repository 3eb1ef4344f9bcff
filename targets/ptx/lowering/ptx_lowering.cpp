#include "targets/ptx/lowering/ptx_lowering.hpp"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/DiagnosticHandler.h>
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
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>
#include <mutex>
#include <utility>

#include "dyn/error.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_instructions.hpp"

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
  // ptxas repeats whatever Default does beyond Less. The passes over addresses are the same in
  // both: without them ptxas needs more registers.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, ptx_cpu, ptx_features, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Less, false));
  if (!machine)
    throw Error(ErrorKind::internal, std::string("LLVM cannot generate PTX for ") + ptx_cpu);
  return machine;
}

/// Keeps the errors that LLVM reports.
class ErrorCollector final : public llvm::DiagnosticHandler {
 public:
  explicit ErrorCollector(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << '\n';
    }
    return true;
  }

 private:
  std::string& errors_;
};

/// The context reports to an ErrorCollector for as long as this lives.
class CollectErrors {
 public:
  CollectErrors(llvm::LLVMContext& context, std::string& errors)
      : context_(context), before_(context.getDiagnosticHandler()) {
    context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
  }
  ~CollectErrors() { context_.setDiagnosticHandler(std::move(before_)); }
  CollectErrors(const CollectErrors&) = delete;
  CollectErrors& operator=(const CollectErrors&) = delete;

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> before_;
};

/// Tells LLVM that blocks have exactly so many threads (from which ptxas knows how many registers
/// each may have), and that at least so many blocks fit a multiprocessor, mostly one: without that,
/// ptxas spills rather than let fewer blocks fit.
void annotate(llvm::Module& module, const KernelShape& shape) {
  llvm::LLVMContext& context = module.getContext();
  auto* integer = llvm::Type::getInt32Ty(context);
  const auto add = [&](const char* property, int value) {
    llvm::Metadata* row[] = {llvm::ValueAsMetadata::get(module.getFunction(shape.symbol)),
                             llvm::MDString::get(context, property),
                             llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
                                 integer, static_cast<std::uint64_t>(value)))};
    module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(context, row));
  };
  add("kernel", 1);
  add("reqntidx", shape.threads);
  add("minctasm", shape.resident);
}

}  // namespace

std::string lower_to_ptx(const llvm::Module& device_module, std::string* hash) {
  const codegen::RoomForLlvm room;
  verify_device_module(device_module);
  if (hash != nullptr) *hash = module_hash(device_module);
  std::string errors;
  const CollectErrors collecting(device_module.getContext(), errors);
  const auto module = llvm::CloneModule(device_module);
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
  if (!errors.empty()) throw Error(ErrorKind::internal, "LLVM cannot generate PTX: " + errors);
  return ptx.str().str();
}

}  // namespace dyn::ptx
