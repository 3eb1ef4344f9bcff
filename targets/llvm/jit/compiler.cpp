#include "targets/llvm/jit/compiler.hpp"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
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
#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <new>

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
  // Loop strength reduction rewrites the main loops' addressing until accumulators spill. A gate
  // refuses it for one context; the command-line option would be the host program's as well.
  class RefuseLoopStrengthReduction : public llvm::OptPassGate {
   public:
    bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override {
      return pass != "Loop Strength Reduction";
    }
    bool isEnabled() const override { return true; }
  };

  Impl(const Isa& isa, CodeEffort effort) {
    const RoomForLlvm room;
    initialize_llvm();
    const std::string triple = "x86_64-unknown-linux-gnu";
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) throw Error(ErrorKind::internal, "LLVM has no x86 target: " + error);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    const auto level =
        effort == CodeEffort::Quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
    machine.reset(target->createTargetMachine(triple, isa.llvm_cpu, isa.llvm_features, options,
                                              llvm::Reloc::PIC_, llvm::CodeModel::Small, level,
                                              true));
    if (!machine) throw Error(ErrorKind::internal, "LLVM cannot generate code for " + isa.name);
    vector_bits = std::to_string(isa.f32_lanes * 32);
  }

  std::unique_ptr<llvm::Module> make_module(llvm::LLVMContext& context, const KernelSource& source,
                                            const std::string& symbol) {
    context.setOptPassGate(gate);
    auto module = std::make_unique<llvm::Module>(symbol, context);
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    source.emit(*module, symbol);
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
                  fmt::format("generated code is not valid ({}): {}", source.key, text));
    }
    return module;
  }

  llvm::SmallVector<char, 0> generate(const KernelSource& source, const std::string& symbol,
                                      llvm::CodeGenFileType type) {
    const RoomForLlvm room;
    llvm::LLVMContext context;
    const auto module = make_module(context, source, symbol);
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, type)) {
      throw Error(ErrorKind::internal, "LLVM cannot write this kind of file");
    }
    passes.run(*module);
    return bytes;
  }

  RefuseLoopStrengthReduction gate;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string vector_bits;
};

Compiler::Compiler(const Isa& isa, CodeEffort effort)
    : impl_(std::make_unique<Impl>(isa, effort)) {}
Compiler::~Compiler() = default;
Compiler::Compiler(Compiler&&) noexcept = default;

std::string Compiler::compile(const KernelSource& source, const std::string& symbol) {
  const auto bytes = impl_->generate(source, symbol, llvm::CodeGenFileType::ObjectFile);
  return {bytes.data(), bytes.size()};
}

std::string Compiler::assembly(const KernelSource& source, const std::string& symbol) {
  const auto bytes = impl_->generate(source, symbol, llvm::CodeGenFileType::AssemblyFile);
  return {bytes.data(), bytes.size()};
}

std::string Compiler::ir(const KernelSource& source, const std::string& symbol) {
  llvm::LLVMContext context;
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->make_module(context, source, symbol)->print(stream, nullptr);
  return text;
}

}  // namespace dyn::codegen
