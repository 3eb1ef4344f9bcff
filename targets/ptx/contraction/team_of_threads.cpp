#include "targets/ptx/contraction/team_of_threads.hpp"

#include <string_view>
#include <vector>

#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

constexpr int team_barrier = 1;  ///< barrier 0 is the block's

std::vector<llvm::CallInst*> block_barriers(llvm::BasicBlock& block) {
  std::vector<llvm::CallInst*> barriers;
  for (llvm::Instruction& instruction : block) {
    auto* called = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (called == nullptr || called->getCalledFunction() == nullptr) continue;
    const llvm::StringRef name = called->getCalledFunction()->getName();
    const DeviceOp* op = find_device_op(std::string_view(name.data(), name.size()));
    if (op != nullptr && op->op == Op::Barrier) barriers.push_back(called);
  }
  return barriers;
}

}  // namespace

TeamOfThreads::TeamOfThreads(codegen::Builder& builder, llvm::Value* thread, int threads, int all)
    : builder_(builder), threads_(threads) {
  if (threads == all) return;
  for (const llvm::BasicBlock& block : *builder.GetInsertBlock()->getParent())
    before_.insert(&block);
  in_team_.emplace(builder, builder.CreateICmpULT(thread, number(builder, threads)), "team");
}

void TeamOfThreads::close() {
  if (!in_team_) return;
  llvm::Function* const function = builder_.GetInsertBlock()->getParent();
  in_team_->close();
  const codegen::Builder::InsertPoint after = builder_.saveIP();
  for (llvm::BasicBlock& block : *function) {
    if (before_.contains(&block)) continue;
    for (llvm::CallInst* barrier : block_barriers(block)) {
      builder_.SetInsertPoint(barrier);
      call(builder_, Op::NamedBarrier,
           {number(builder_, team_barrier), number(builder_, threads_)});
      barrier->eraseFromParent();
    }
  }
  builder_.restoreIP(after);
}

}  // namespace dyn::ptx
