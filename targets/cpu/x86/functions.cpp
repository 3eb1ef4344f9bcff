#include "targets/cpu/x86/functions.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "targets/llvm/math/half.hpp"

namespace dyn::cpu {

llvm::FunctionType* main_loop_type(codegen::Builder& builder) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  return llvm::FunctionType::get(
      builder.getVoidTy(), {pointer, i64, pointer, i64, i64, i64, pointer, i64, i64, i64, i64, i64},
      false);
}

llvm::Function* create_main_loop(codegen::Builder& builder, llvm::Module& module,
                                 const std::string& symbol) {
  llvm::Function* function = llvm::Function::Create(
      main_loop_type(builder), llvm::Function::ExternalLinkage, symbol, module);
  for (const unsigned argument : {a_argument, b_argument, c_argument})
    function->addParamAttr(argument, llvm::Attribute::NoAlias);
  return function;
}

llvm::Function* create_kernel_function(codegen::Builder& builder, llvm::Module& module,
                                       const std::string& symbol) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {pointer, i64, i64, pointer}, false);
  llvm::Function* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  return function;
}

llvm::Function* create_kernel_function(codegen::Builder& builder, llvm::Module& module,
                                       const std::string& symbol, const codegen::Isa& isa) {
  llvm::Function* function = create_kernel_function(builder, module, symbol);
  allow_rounding(*function, isa);
  return function;
}

void allow_rounding(llvm::Function& function, const codegen::Isa& isa) {
  if (isa.rounds_bfloats) allow_feature(function, isa, codegen::bfloat_feature);
}

void allow_feature(llvm::Function& function, const codegen::Isa& isa, std::string_view feature) {
  function.addFnAttr("target-cpu", isa.llvm_cpu);
  function.addFnAttr(
      codegen::target_features,
      fmt::format("{}{}+{}", isa.llvm_features, isa.llvm_features.empty() ? "" : ",", feature));
}

}  // namespace dyn::cpu
