#include "targets/cpu/x86/functions.hpp"

#include <llvm/IR/Module.h>

namespace dyn::cpu {

llvm::FunctionType* main_loop_type(codegen::Builder& builder) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  return llvm::FunctionType::get(
      builder.getVoidTy(), {pointer, i64, pointer, i64, i64, i64, pointer, i64, i64, i64, i64},
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

}  // namespace dyn::cpu
