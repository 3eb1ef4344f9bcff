#include "targets/cpu/recurrence/team.hpp"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <array>

#include "src/base/bytes.hpp"
#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using llvm::Value;

/// Each has a line of its own: the leader writes the phase, the others the rest.
enum MeetingWord { joined_word, phase_word, done_word, meeting_words };
static_assert(meeting_words * line_bytes == meeting_bytes);

/// The phase's word is its number from 1 on, and the parts of the columns below it.
constexpr int parts_bits = 16;
constexpr std::int64_t over = -1;

}  // namespace

Value* Team::word(int index) {
  return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), words_,
                                     static_cast<std::uint64_t>(index * line_bytes));
}

Value* Team::load(int index) {
  llvm::LoadInst* value =
      builder_.CreateAlignedLoad(builder_.getInt64Ty(), word(index), llvm::Align(8));
  value->setAtomic(llvm::AtomicOrdering::Acquire);
  return value;
}

void Team::store(Value* value, int index) {
  builder_.CreateAlignedStore(value, word(index), llvm::Align(8))
      ->setAtomic(llvm::AtomicOrdering::Release);
}

Value* Team::add(int index, std::int64_t value) {
  return builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, word(index), function_.number(value),
                                  llvm::Align(8), llvm::AtomicOrdering::AcquireRelease);
}

// Where there are more threads than processors the one that is waited for may need this one's.
Value* Team::wait(Value* address, const std::function<Value*(Value*)>& test) {
  constexpr std::uint64_t tries_before_yield = 512;
  auto *before = builder_.GetInsertBlock(), *look = function_.block("look"),
       *again = function_.block("again"), *yield = function_.block("yield"),
       *met = function_.block("met");
  builder_.CreateBr(look);
  builder_.SetInsertPoint(look);
  llvm::PHINode* tries = builder_.CreatePHI(builder_.getInt64Ty(), 3);
  tries->addIncoming(function_.number(1), before);
  llvm::LoadInst* value =
      builder_.CreateAlignedLoad(builder_.getInt64Ty(), address, llvm::Align(8));
  value->setAtomic(llvm::AtomicOrdering::Acquire);
  builder_.CreateCondBr(test(value), met, again);
  builder_.SetInsertPoint(again);
  builder_.CreateIntrinsic(builder_.getVoidTy(), llvm::Intrinsic::x86_sse2_pause, {});
  Value* more = builder_.CreateAdd(tries, function_.number(1));
  tries->addIncoming(more, again);
  Value* often = builder_.CreateAnd(tries, builder_.getInt64(tries_before_yield - 1));
  builder_.CreateCondBr(builder_.CreateICmpEQ(often, function_.number(0)), yield, look);
  builder_.SetInsertPoint(yield);
  llvm::FunctionCallee callee = function_.function->getParent()->getOrInsertFunction(
      "sched_yield", llvm::FunctionType::get(builder_.getInt32Ty(), false));
  builder_.CreateCall(callee);
  tries->addIncoming(more, yield);
  builder_.CreateBr(look);
  builder_.SetInsertPoint(met);
  return value;
}

/// Counts who is here, and says so.
Team::Turn Team::lead(Value* next, Value* count) {
  Value *goes_on = builder_.CreateICmpSLT(next, count), *one = function_.number(1);
  Value* present = builder_.CreateAdd(load(joined_word), one);
  Value* number = builder_.CreateShl(builder_.CreateAdd(next, one), function_.number(parts_bits));
  store(builder_.CreateSelect(goes_on, builder_.CreateOr(number, present), function_.number(over)),
        phase_word);
  return {goes_on, next, function_.number(0), present, function_.number(0)};
}

/// Waits for a phase in which the leader counts on this thread.
Team::Turn Team::follow(Value* own, Value* last) {
  const auto parts_of = [&](Value* word) {
    return builder_.CreateAnd(word, builder_.getInt64((std::uint64_t{1} << parts_bits) - 1));
  };
  Value* word = wait(this->word(phase_word), [&](Value* seen) {
    Value* counted = builder_.CreateAnd(builder_.CreateICmpNE(seen, last),
                                        builder_.CreateICmpSLT(own, parts_of(seen)));
    return builder_.CreateOr(counted, builder_.CreateICmpEQ(seen, function_.number(over)));
  });
  Value* index = builder_.CreateSub(builder_.CreateAShr(word, function_.number(parts_bits)),
                                    function_.number(1));
  return {builder_.CreateICmpNE(word, function_.number(over)), index, own, parts_of(word), word};
}

void Team::run(Value* count, const std::function<void(const Phase&)>& body) {
  Conditional joins(builder_, builder_.CreateNot(leads_), "join");
  Value* joined = builder_.CreateAdd(add(joined_word, 1), function_.number(1));
  Value* none = function_.number(0);
  Value* own = joins.close(std::span(&joined, 1), std::span(&none, 1))[0];
  auto *before = builder_.GetInsertBlock(), *header = function_.block("phase"),
       *leading = function_.block("leads"), *following = function_.block("follows"),
       *turn = function_.block("turn"), *work = function_.block("work"),
       *after = function_.block("over");
  builder_.CreateBr(header);
  builder_.SetInsertPoint(header);
  // The leader's next phase or another's last word, and how many parts others will have done.
  llvm::PHINode *place = builder_.CreatePHI(builder_.getInt64Ty(), 2),
                *expected = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  place->addIncoming(none, before);
  expected->addIncoming(none, before);
  builder_.CreateCondBr(leads_, leading, following);
  builder_.SetInsertPoint(leading);
  const Turn own_turn = lead(place, count);
  auto* leading_end = builder_.GetInsertBlock();
  builder_.CreateBr(turn);
  builder_.SetInsertPoint(following);
  const Turn other_turn = follow(own, place);
  auto* following_end = builder_.GetInsertBlock();
  builder_.CreateBr(turn);
  builder_.SetInsertPoint(turn);
  const auto either = [&](Value* Turn::* field) {
    llvm::PHINode* value = builder_.CreatePHI((own_turn.*field)->getType(), 2);
    value->addIncoming(own_turn.*field, leading_end);
    value->addIncoming(other_turn.*field, following_end);
    return value;
  };
  Value *goes_on = either(&Turn::goes_on), *index = either(&Turn::index),
        *part = either(&Turn::part), *parts = either(&Turn::parts), *word = either(&Turn::word);
  builder_.CreateCondBr(goes_on, work, after);
  builder_.SetInsertPoint(work);
  body({index, part, parts});
  Value* one = function_.number(1);
  Value* all_done = builder_.CreateAdd(expected, builder_.CreateSub(parts, one));
  Conditional reports(builder_, builder_.CreateNot(leads_), "report");
  add(done_word, 1);
  reports.close();
  Value* waits = builder_.CreateAnd(leads_, builder_.CreateICmpSGT(parts, one));
  Conditional meets(builder_, waits, "meet");
  wait(this->word(done_word), [&](Value* done) { return builder_.CreateICmpEQ(done, all_done); });
  meets.close();
  place->addIncoming(builder_.CreateSelect(leads_, builder_.CreateAdd(index, one), word),
                     builder_.GetInsertBlock());
  expected->addIncoming(all_done, builder_.GetInsertBlock());
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
}

void emit_meeting(llvm::Module& module, const std::string& symbol,
                  const RecurrenceSlots& strategy) {
  codegen::Builder builder(module.getContext());
  llvm::Function* function = create_kernel_function(builder, module, symbol);
  const codegen::KernelArgsValues args = codegen::load_kernel_args(builder, function->getArg(0));
  Value* shared = codegen::load_shared_memory(builder, function->getArg(0));
  const auto slot = [&](int index) {
    return builder.CreateAlignedLoad(builder.getInt64Ty(),
                                     builder.CreateConstGEP1_64(builder.getInt64Ty(), args.ints,
                                                                static_cast<std::uint64_t>(index)),
                                     llvm::Align(8));
  };
  codegen::CountedLoop teams(builder, builder.getInt64(0), slot(strategy.teams),
                             builder.getInt64(1), "team");
  Value* words = builder.CreateGEP(builder.getInt8Ty(), shared,
                                   builder.CreateMul(teams.index(), slot(strategy.team_bytes)));
  for (int word = 0; word < meeting_words; ++word) {
    builder.CreateAlignedStore(
        builder.getInt64(0),
        builder.CreateConstGEP1_64(builder.getInt8Ty(), words,
                                   static_cast<std::uint64_t>(word * line_bytes)),
        llvm::Align(8));
  }
  teams.close();
  builder.CreateRetVoid();
}

}  // namespace dyn::cpu
