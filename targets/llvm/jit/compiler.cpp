#include "targets/llvm/jit/compiler.hpp"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Scalar.h>
#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <new>
#include <optional>

#include "dyn/error.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::codegen {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

/// Compilations that go on.
std::atomic<std::size_t> compilations{0};
thread_local int compilations_of_this_thread = 0;

/// LLVM's list of passes from its IR to a file, built once for many modules. Of the passes over the
/// IR it has those that lower what generated code contains: the others look for what a front end
/// leaves behind, and some of them harm. (Loop strength reduction rewrites the main loops'
/// addressing until accumulators spill.)
class FileWriter {
  /// TargetPassConfig keeps its selection of instructions for the lists that LLVM builds itself.
  struct Selection : llvm::TargetPassConfig {
    static constexpr bool (llvm::TargetPassConfig::*passes)() = &Selection::addCoreISelPasses;
  };

 public:
  FileWriter(llvm::LLVMTargetMachine& machine, llvm::CodeGenFileType type) : stream_(bytes_) {
    llvm::TargetPassConfig* const config = machine.createPassConfig(passes_);
    config->setDisableVerify(true);
    passes_.add(config);
    auto* const modules = new llvm::MachineModuleInfoWrapperPass(&machine);
    passes_.add(modules);
    add_ir_passes(machine);
    config->addCodeGenPrepare();
    config->addISelPrepare();
    const bool failed = (config->*Selection::passes)();
    config->addMachinePasses();
    config->setInitialized();
    if (failed ||
        machine.addAsmPrinter(passes_, stream_, nullptr, type, modules->getMMI().getContext()))
      throw Error(ErrorKind::internal, "LLVM cannot write this kind of file");
    passes_.add(llvm::createFreeMachineFunctionPass());
  }

  std::string write(llvm::Module& module) {
    bytes_.clear();
    passes_.run(module);
    return {bytes_.data(), bytes_.size()};
  }

 private:
  void add_ir_passes(llvm::LLVMTargetMachine& machine) {
    passes_.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
    passes_.add(llvm::createPreISelIntrinsicLoweringPass());
    passes_.add(llvm::createAtomicExpandLegacyPass());
    passes_.add(llvm::createUnreachableBlockEliminationPass());
    passes_.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
    passes_.add(llvm::createExpandReductionsPass());
    passes_.add(llvm::createInterleavedAccessPass());
  }

  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_;
  llvm::legacy::PassManager passes_;
};

}  // namespace

RoomForLlvm::RoomForLlvm() {
  constexpr std::size_t usual_bytes = std::size_t{64} << 20, more_for_each = std::size_t{16} << 20;
  const std::size_t bytes = usual_bytes + more_for_each * compilations++;
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    --compilations;
    throw std::bad_alloc();
  }
  ::munmap(room, bytes);
  ++compilations_of_this_thread;
}

RoomForLlvm::~RoomForLlvm() {
  --compilations_of_this_thread;
  --compilations;
}

bool RoomForLlvm::is_taken() noexcept { return compilations_of_this_thread > 0; }

std::string llvm_version() { return LLVM_VERSION_STRING; }

struct Compiler::Impl {
  // It looks for chains of scalar operations that could be done in mask registers, where generated
  // code has none, and takes longer than most passes.
  class RefuseDomainReassignment : public llvm::OptPassGate {
   public:
    bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override {
      return pass != "X86 Domain Reassignment Pass";
    }
    bool isEnabled() const override { return true; }
  };

  Impl(const Isa& isa, CodeEffort effort) {
    const RoomForLlvm room;
    initialize_llvm();
    context.setOptPassGate(gate);
    const std::string triple = "x86_64-unknown-linux-gnu";
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) throw Error(ErrorKind::internal, "LLVM has no x86 target: " + error);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    const auto level =
        effort == CodeEffort::Quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
    machine.reset(static_cast<llvm::LLVMTargetMachine*>(
        target->createTargetMachine(triple, isa.llvm_cpu, isa.llvm_features, options,
                                    llvm::Reloc::PIC_, llvm::CodeModel::Small, level, true)));
    if (!machine) throw Error(ErrorKind::internal, "LLVM cannot generate code for " + isa.name);
    vector_bits = std::to_string(isa.f32_lanes * 32);
  }

  std::unique_ptr<llvm::Module> make_module(std::span<const KernelSource> sources,
                                            std::span<const std::string> symbols) {
    auto module = std::make_unique<llvm::Module>(symbols.front(), context);
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i].emit(*module, symbols[i]);
    for (llvm::Function& function : *module) {
      if (function.isDeclaration()) continue;
      function.addFnAttr("prefer-vector-width", vector_bits);
      function.addFnAttr("min-legal-vector-width", vector_bits);
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (llvm::verifyModule(*module, &stream)) {
      throw Error(ErrorKind::internal,
                  fmt::format("generated code is not valid ({}): {}", sources.front().key, text));
    }
    return module;
  }

  std::string generate(std::span<const KernelSource> sources, std::span<const std::string> symbols,
                       llvm::CodeGenFileType type, bool hidden = false) {
    const RoomForLlvm room;
    const auto module = make_module(sources, symbols);
    if (hidden) {
      for (const std::string& symbol : symbols)
        module->getFunction(symbol)->setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
    std::optional<FileWriter>& writer =
        type == llvm::CodeGenFileType::ObjectFile ? objects : assemblies;
    if (!writer) writer.emplace(*machine, type);
    return writer->write(*module);
  }

  RefuseDomainReassignment gate;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::LLVMTargetMachine> machine;
  std::string vector_bits;
  std::optional<FileWriter> objects, assemblies;
};

Compiler::Compiler(const Isa& isa, CodeEffort effort)
    : impl_(std::make_unique<Impl>(isa, effort)) {}
Compiler::~Compiler() = default;
Compiler::Compiler(Compiler&&) noexcept = default;

std::string Compiler::compile(const KernelSource& source, const std::string& symbol) {
  return impl_->generate({&source, 1}, {&symbol, 1}, llvm::CodeGenFileType::ObjectFile);
}

std::string Compiler::library_object(std::span<const KernelSource> sources,
                                     std::span<const std::string> symbols) {
  return impl_->generate(sources, symbols, llvm::CodeGenFileType::ObjectFile, true);
}

std::string Compiler::assembly(const KernelSource& source, const std::string& symbol) {
  return impl_->generate({&source, 1}, {&symbol, 1}, llvm::CodeGenFileType::AssemblyFile);
}

std::string Compiler::ir(const KernelSource& source, const std::string& symbol) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->make_module({&source, 1}, {&symbol, 1})->print(stream, nullptr);
  return text;
}

}  // namespace dyn::codegen
