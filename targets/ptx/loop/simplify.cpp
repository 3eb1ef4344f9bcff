#include "targets/ptx/loop/simplify.hpp"

#include <llvm/IR/Function.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Pass.h>
#include <llvm/Transforms/Scalar.h>

namespace dyn::ptx {

namespace {

void simplify(llvm::Function& kernel, bool hoists) {
  llvm::legacy::FunctionPassManager passes(kernel.getParent());
  passes.add(llvm::createEarlyCSEPass());
  if (hoists) {
    passes.add(llvm::createLICMPass());
    passes.add(llvm::createEarlyCSEPass());
  }
  passes.add(llvm::createDeadCodeEliminationPass());
  passes.doInitialization();
  passes.run(kernel);
  passes.doFinalization();
}

}  // namespace

void simplify(llvm::Function& kernel) { simplify(kernel, true); }

void simplify_in_place(llvm::Function& kernel) { simplify(kernel, false); }

}  // namespace dyn::ptx
