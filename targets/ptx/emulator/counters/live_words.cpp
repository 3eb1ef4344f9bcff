// Registers that the values of a kernel need, from the liveness of its device IR.

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "targets/ptx/emulator/counters/survey.hpp"

namespace dyn::ptx::emulation {
namespace {

using Values = llvm::DenseSet<const llvm::Value*>;

/// The value whose register this one shares: a constant distance from an address is part of the
/// access, and a change of type alone is nothing.
const llvm::Value* in_register(const llvm::Value* value) {
  for (;;) {
    if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(value);
        address != nullptr && address->hasAllConstantIndices())
      value = address->getPointerOperand();
    else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
             cast != nullptr && words_of(cast->getSrcTy()) == words_of(cast->getDestTy()) &&
             cast->isNoopCast(cast->getModule()->getDataLayout()))
      value = cast->getOperand(0);
    else
      return value;
  }
}

bool has_register(const llvm::Value* value) {
  return llvm::isa<llvm::Instruction>(value) || llvm::isa<llvm::Argument>(value);
}

class Liveness {
 public:
  explicit Liveness(const llvm::Function& kernel) : kernel_(kernel) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const llvm::BasicBlock* block : llvm::post_order(&kernel.getEntryBlock()))
        changed |= visit(*block);
    }
  }

  int most_words() const {
    int most = 0;
    for (const llvm::BasicBlock& block : kernel_) most = std::max(most, most_words_in(block));
    return most;
  }

 private:
  static int words_of(const Values& live) {
    int words = 0;
    for (const llvm::Value* value : live) words += emulation::words_of(value->getType());
    return words;
  }

  static void use(const llvm::Value* value, Values& live) {
    const llvm::Value* held = in_register(value);
    if (has_register(held)) live.insert(held);
  }

  Values live_at_end(const llvm::BasicBlock& block) const {
    Values live;
    for (const llvm::BasicBlock* next : llvm::successors(&block)) {
      if (const auto known = at_start_.find(next); known != at_start_.end())
        live.insert(known->second.begin(), known->second.end());
      for (const llvm::PHINode& phi : next->phis()) use(phi.getIncomingValueForBlock(&block), live);
    }
    return live;
  }

  static void step_back(const llvm::Instruction& instruction, Values& live) {
    live.erase(&instruction);
    if (llvm::isa<llvm::PHINode>(instruction)) return;
    if (in_register(&instruction) != &instruction) return;  // its operand is used where it is
    for (const llvm::Use& operand : instruction.operands()) use(operand.get(), live);
  }

  bool visit(const llvm::BasicBlock& block) {
    Values live = live_at_end(block);
    for (const llvm::Instruction& instruction : llvm::reverse(block)) step_back(instruction, live);
    Values& known = at_start_[&block];
    if (known.size() == live.size()) return false;  // sets only grow
    known = std::move(live);
    return true;
  }

  int most_words_in(const llvm::BasicBlock& block) const {
    Values live = live_at_end(block);
    int most = words_of(live);
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
      step_back(instruction, live);
      most = std::max(most, words_of(live));
    }
    return most;
  }

  const llvm::Function& kernel_;
  llvm::DenseMap<const llvm::BasicBlock*, Values> at_start_;
};

}  // namespace

int live_words(const llvm::Function& kernel) { return Liveness(kernel).most_words(); }

}  // namespace dyn::ptx::emulation
