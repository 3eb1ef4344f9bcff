#pragma once
// Loops and branches with explicit phis: generated code has no allocas.

#include <span>
#include <string>
#include <vector>

#include "targets/llvm/code/types.hpp"

namespace dyn::codegen {

/// for (i = begin; i < end; i += step), signed, with values carried from iteration to iteration.
/// The constructor leaves the builder in the body, close() after the loop. Bodies may add blocks.
class CountedLoop {
 public:
  CountedLoop(Builder& builder, llvm::Value* begin, llvm::Value* end, llvm::Value* step,
              const std::string& name, std::span<llvm::Value* const> initial = {});

  llvm::Value* index() const { return index_; }
  llvm::Value* carried(std::size_t i) const { return carried_[i]; }
  /// Compilers do not unroll it: its body takes the registers that there are.
  void keep_rolled() { rolled_ = true; }
  /// Ends the body; returns the carried values after the loop (the initial ones where it never
  /// ran).
  std::vector<llvm::Value*> close(std::span<llvm::Value* const> next = {});

 private:
  Builder& builder_;
  llvm::Value *end_, *step_;
  std::string name_;
  std::vector<llvm::Value*> initial_;
  llvm::BasicBlock *before_, *body_, *after_;
  llvm::PHINode* index_;
  std::vector<llvm::PHINode*> carried_;
  bool rolled_ = false;
};

/// do { ... } while (again), with values carried from one to the next. The constructor leaves the
/// builder in the body, close() after it.
class RepeatedBody {
 public:
  RepeatedBody(Builder& builder, const std::string& name, std::span<llvm::Value* const> initial);
  std::size_t count() const { return carried_.size(); }  ///< of carried values
  llvm::Value* carried(std::size_t i) const { return carried_[i]; }
  /// Ends the body; returns the carried values after it.
  std::vector<llvm::Value*> close(std::span<llvm::Value* const> next, llvm::Value* again);

 private:
  Builder& builder_;
  llvm::BasicBlock *body_, *after_;
  std::vector<llvm::PHINode*> carried_;
};

/// if (condition) { ... }, with values that the body may replace.
class Conditional {
 public:
  Conditional(Builder& builder, llvm::Value* condition, const std::string& name);
  /// Ends the body: for each pair, `inside` where it ran, else `outside`.
  std::vector<llvm::Value*> close(std::span<llvm::Value* const> inside = {},
                                  std::span<llvm::Value* const> outside = {});

 private:
  Builder& builder_;
  llvm::BasicBlock *before_, *after_;
};

/// if (condition) yes(); else no();
template <class Yes, class No>
void choose(Builder& builder, llvm::Value* condition, const std::string& name, Yes yes, No no) {
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  const auto block = [&](const char* suffix) {
    return llvm::BasicBlock::Create(builder.getContext(), name + suffix, function);
  };
  llvm::BasicBlock *then = block(""), *otherwise = block(".else"), *after = block(".after");
  builder.CreateCondBr(condition, then, otherwise);
  builder.SetInsertPoint(then);
  yes();
  builder.CreateBr(after);
  builder.SetInsertPoint(otherwise);
  no();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

/// The values that yes() gives where the condition holds, else those that no() gives, as many and
/// of the same types.
template <class Yes, class No>
std::vector<llvm::Value*> chosen(Builder& builder, llvm::Value* condition, const std::string& name,
                                 Yes yes, No no) {
  std::vector<llvm::Value*> values, others;
  llvm::BasicBlock *end_of_yes = nullptr, *end_of_no = nullptr;
  choose(
      builder, condition, name,
      [&] {
        values = yes();
        end_of_yes = builder.GetInsertBlock();
      },
      [&] {
        others = no();
        end_of_no = builder.GetInsertBlock();
      });
  for (std::size_t i = 0; i < values.size(); ++i) {
    llvm::PHINode* either = builder.CreatePHI(values[i]->getType(), 2);
    either->addIncoming(values[i], end_of_yes);
    either->addIncoming(others[i], end_of_no);
    values[i] = either;
  }
  return values;
}

/// Part `index` of `extent` cut in `parts` parts as equal as they can be, larger ones first.
struct Part {
  llvm::Value *start, *size;
};
Part equal_part(Builder& builder, llvm::Value* extent, llvm::Value* parts, llvm::Value* index);

}  // namespace dyn::codegen
