#include "targets/ptx/loop/simplify.hpp"

#include <llvm/IR/Function.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Pass.h>
#include <llvm/Transforms/Scalar.h>

namespace dyn::ptx {

void simplify(llvm::Function& kernel) {
  llvm::legacy::FunctionPassManager passes(kernel.getParent());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createDeadCodeEliminationPass());
  passes.doInitialization();
  passes.run(kernel);
  passes.doFinalization();
}

}  // namespace dyn::ptx
