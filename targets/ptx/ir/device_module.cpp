#include "targets/ptx/ir/device_module.hpp"

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include "dyn/error.hpp"
#include "targets/llvm/math/half.hpp"

namespace dyn::ptx {
namespace {

constexpr const char* threads_attribute = "dyn.threads";
constexpr const char* shared_attribute = "dyn.shared";
constexpr const char* conversion_names = "dyn.dev.cvt.";  ///< how device_ops.def names them
constexpr const char* resident_attribute = "dyn.resident";

int number_of(const llvm::Function& kernel, const char* attribute) {
  int value = -1;
  if (kernel.getFnAttribute(attribute).getValueAsString().getAsInteger(10, value) || value < 0) {
    throw Error(
        ErrorKind::internal,
        fmt::format("the device kernel {} needs the function attribute \"{}\", a number from 0 on",
                    kernel.getName().str(), attribute));
  }
  return value;
}

}  // namespace

std::unique_ptr<llvm::Module> make_device_module(llvm::LLVMContext& context,
                                                 const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(device_triple);
  module->setDataLayout(device_data_layout);
  return module;
}

std::unique_ptr<llvm::Module> emit_device_module(llvm::LLVMContext& context,
                                                 const codegen::KernelSource& source,
                                                 const std::string& symbol) {
  auto module = make_device_module(context, symbol);
  source.emit(*module, symbol);
  try {
    verify_device_module(*module);
  } catch (const Error& error) { throw error.within("generating " + source.key); }
  return module;
}

codegen::Builder builder_for(llvm::Module& module) { return codegen::Builder(module.getContext()); }

llvm::Function* create_kernel(codegen::Builder& builder, llvm::Module& module,
                              const std::string& symbol, int threads, int shared_bytes,
                              int resident) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* global = llvm::PointerType::get(context, global_space);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {global, global, global}, false);
  auto* kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module);
  kernel->setDoesNotThrow();
  kernel->addFnAttr(codegen::conversions_attribute, conversion_names);
  kernel->addFnAttr(threads_attribute, std::to_string(threads));
  kernel->addFnAttr(shared_attribute, std::to_string(shared_bytes));
  if (resident > 1) kernel->addFnAttr(resident_attribute, std::to_string(resident));
  constexpr const char* names[] = {"pointers", "ints", "status"};
  for (unsigned i = 0; i < 3; ++i) {
    kernel->getArg(i)->setName(names[i]);
    kernel->addParamAttr(i,
                         llvm::Attribute::NoAlias);  // no operand overlaps the tables or the status
  }
  kernel->addParamAttr(0, llvm::Attribute::ReadOnly);
  kernel->addParamAttr(1, llvm::Attribute::ReadOnly);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", kernel));
  return kernel;
}

KernelShape kernel_shape(const llvm::Module& module) {
  const llvm::Function* kernel = nullptr;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (kernel != nullptr) {
      throw Error(ErrorKind::internal,
                  fmt::format("a device module has one kernel, not {} and {}",
                              kernel->getName().str(), function.getName().str()));
    }
    kernel = &function;
  }
  if (kernel == nullptr)
    throw Error(ErrorKind::internal,
                "the device module " + module.getModuleIdentifier() + " has no kernel");
  return {kernel->getName().str(), number_of(*kernel, threads_attribute),
          number_of(*kernel, shared_attribute),
          kernel->hasFnAttribute(resident_attribute) ? number_of(*kernel, resident_attribute) : 1};
}

std::string module_hash(const llvm::Module& module) {
  // The names of the module and its kernel do not affect what it does.
  std::string text = module_text(module);
  for (const char* line : {"; ModuleID = ", "source_filename = "}) {
    if (text.starts_with(line)) text.erase(0, text.find('\n') + 1);
  }
  const std::string name = fmt::format("@{}(", kernel_shape(module).symbol);
  if (const std::size_t at = text.find(name); at != std::string::npos)
    text.replace(at, name.size(), "@kernel(");
  return fmt::format("{:016x}", llvm::xxh3_64bits(text));
}

std::string module_text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

std::unique_ptr<llvm::Module> parse_device_module(llvm::LLVMContext& context,
                                                  const std::string& text) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  if (module != nullptr) return module;
  throw Error(ErrorKind::internal,
              fmt::format("device IR, line {}: {}: {}", diagnostic.getLineNo(),
                          diagnostic.getMessage().str(), diagnostic.getLineContents().str()));
}

}  // namespace dyn::ptx
