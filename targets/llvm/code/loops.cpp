#include "targets/llvm/code/loops.hpp"

namespace dyn::codegen {

namespace {

llvm::BasicBlock* new_block(Builder& builder, const std::string& name) {
  return llvm::BasicBlock::Create(builder.getContext(), name,
                                  builder.GetInsertBlock()->getParent());
}

void forbid_unrolling(llvm::BranchInst& latch) {
  llvm::LLVMContext& context = latch.getContext();
  llvm::MDNode* disable =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  latch.setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace

CountedLoop::CountedLoop(Builder& builder, llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                         const std::string& name, std::span<llvm::Value* const> initial)
    : builder_(builder),
      end_(end),
      step_(step),
      name_(name),
      initial_(initial.begin(), initial.end()) {
  before_ = builder.GetInsertBlock();
  body_ = new_block(builder, name);
  after_ = llvm::BasicBlock::Create(builder.getContext(), name + ".after");
  builder.CreateCondBr(builder.CreateICmpSLT(begin, end), body_, after_);
  builder.SetInsertPoint(body_);
  index_ = builder.CreatePHI(begin->getType(), 2, name + ".index");
  index_->addIncoming(begin, before_);
  for (llvm::Value* value : initial_) {
    carried_.push_back(builder.CreatePHI(value->getType(), 2));
    carried_.back()->addIncoming(value, before_);
  }
}

std::vector<llvm::Value*> CountedLoop::close(std::span<llvm::Value* const> next) {
  llvm::Value* following =
      builder_.CreateAdd(index_, step_, name_ + ".next", /*HasNUW=*/false, /*HasNSW=*/true);
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  after_->insertInto(latch->getParent());
  llvm::BranchInst* again =
      builder_.CreateCondBr(builder_.CreateICmpSLT(following, end_), body_, after_);
  if (rolled_) forbid_unrolling(*again);
  index_->addIncoming(following, latch);
  builder_.SetInsertPoint(after_);
  std::vector<llvm::Value*> results;
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    carried_[i]->addIncoming(next[i], latch);
    llvm::PHINode* result = builder_.CreatePHI(next[i]->getType(), 2);
    result->addIncoming(initial_[i], before_);
    result->addIncoming(next[i], latch);
    results.push_back(result);
  }
  return results;
}

RepeatedBody::RepeatedBody(Builder& builder, const std::string& name,
                           std::span<llvm::Value* const> initial)
    : builder_(builder) {
  llvm::BasicBlock* before = builder.GetInsertBlock();
  body_ = new_block(builder, name);
  after_ = llvm::BasicBlock::Create(builder.getContext(), name + ".after");
  builder.CreateBr(body_);
  builder.SetInsertPoint(body_);
  for (llvm::Value* value : initial) {
    carried_.push_back(builder.CreatePHI(value->getType(), 2));
    carried_.back()->addIncoming(value, before);
  }
}

std::vector<llvm::Value*> RepeatedBody::close(std::span<llvm::Value* const> next,
                                              llvm::Value* again) {
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  after_->insertInto(latch->getParent());
  builder_.CreateCondBr(again, body_, after_);
  builder_.SetInsertPoint(after_);
  for (std::size_t i = 0; i < carried_.size(); ++i) carried_[i]->addIncoming(next[i], latch);
  return {next.begin(), next.end()};
}

Conditional::Conditional(Builder& builder, llvm::Value* condition, const std::string& name)
    : builder_(builder) {
  before_ = builder.GetInsertBlock();
  llvm::BasicBlock* body = new_block(builder, name);
  after_ = llvm::BasicBlock::Create(builder.getContext(), name + ".after");
  builder.CreateCondBr(condition, body, after_);
  builder.SetInsertPoint(body);
}

std::vector<llvm::Value*> Conditional::close(std::span<llvm::Value* const> inside,
                                             std::span<llvm::Value* const> outside) {
  llvm::BasicBlock* end = builder_.GetInsertBlock();
  builder_.CreateBr(after_);
  after_->insertInto(end->getParent());
  builder_.SetInsertPoint(after_);
  std::vector<llvm::Value*> results;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    llvm::PHINode* result = builder_.CreatePHI(inside[i]->getType(), 2);
    result->addIncoming(outside[i], before_);
    result->addIncoming(inside[i], end);
    results.push_back(result);
  }
  return results;
}

Part equal_part(Builder& builder, llvm::Value* extent, llvm::Value* parts, llvm::Value* index) {
  llvm::Value* size = builder.CreateUDiv(extent, parts);
  llvm::Value* larger = builder.CreateURem(extent, parts);
  llvm::Value* larger_before =
      builder.CreateSelect(builder.CreateICmpSLT(index, larger), index, larger);
  llvm::Value* start = builder.CreateAdd(builder.CreateMul(index, size), larger_before);
  llvm::Value* one_more =
      builder.CreateZExt(builder.CreateICmpULT(index, larger), builder.getInt64Ty());
  return {start, builder.CreateAdd(size, one_more)};
}

}  // namespace dyn::codegen
