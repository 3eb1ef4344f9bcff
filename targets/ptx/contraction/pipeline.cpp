#include "targets/ptx/contraction/pipeline.hpp"

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::Conditional;

constexpr int mbarrier_bytes = 8;
constexpr int most_stages = pipeline_bytes / (2 * mbarrier_bytes);

/// A step's barrier also means that every thread has left the step before, whose stage is the next
/// one to be filled.
class GroupPipeline final : public Pipeline {
 public:
  using Pipeline::Pipeline;
  void prepare(Builder&, llvm::Value*, llvm::Value*) override {}
  void begin_write(Builder& builder, const Cursor&, llvm::Value* exists) override {
    open_write(builder, exists);
  }
  // Every step commits a group, empty or not, so that the count of groups in flight tells which
  // steps are complete.
  void end_write(Builder& builder) override {
    close_write();
    call(builder, Op::CopyCommit);
  }
  void begin_read(Builder& builder, const Cursor&) override {
    call(builder, Op::CopyWait, {number(builder, stages() - 2)});
    call(builder, Op::Barrier);
  }
  void end_read(Builder&, const Cursor&) override {}
};

/// full[stage]: completes a phase when all copies into the stage have arrived. empty[stage]: when
/// all threads have read it.
class BarrierPipeline final : public Pipeline {
 public:
  BarrierPipeline(int stages, int threads, bool asynchronous, bool synchronous)
      : Pipeline(stages),
        threads_(threads),
        asynchronous_(asynchronous),
        synchronous_(synchronous) {
    if (stages > most_stages)
      throw Error(ErrorKind::internal, "a pipeline of " + std::to_string(stages) + " stages, " +
                                           std::to_string(most_stages) + " at most");
  }

  void prepare(Builder& builder, llvm::Value* memory, llvm::Value* thread) override {
    memory_ = memory;
    Conditional first(builder, builder.CreateICmpEQ(thread, number(builder, 0)), "barriers");
    const int arrivals =
        threads_ * (static_cast<int>(asynchronous_) + static_cast<int>(synchronous_));
    for (int stage = 0; stage < stages(); ++stage) {
      call(builder, Op::BarrierInit,
           {full(builder, number(builder, stage)), number(builder, arrivals)});
      call(builder, Op::BarrierInit,
           {empty(builder, number(builder, stage)), number(builder, threads_)});
    }
    first.close();
    call(builder, Op::Barrier);
  }

  // In the first round no thread has to leave a stage: a barrier's phase before its first counts as
  // complete, with parity 1.
  void begin_write(Builder& builder, const Cursor& cursor, llvm::Value* exists) override {
    open_write(builder, exists);
    cursor_ = cursor;
    wait(builder, empty(builder, cursor.stage),
         builder.CreateXor(cursor.parity, number(builder, 1)), "wait_empty");
  }

  void end_write(Builder& builder) override {
    llvm::Value* barrier = full(builder, cursor_.stage);
    if (asynchronous_) call(builder, Op::CopyArrive, {barrier});
    if (synchronous_) call(builder, Op::BarrierArrive, {barrier});
    close_write();
  }

  void begin_read(Builder& builder, const Cursor& cursor) override {
    wait(builder, full(builder, cursor.stage), cursor.parity, "wait_full");
  }
  void end_read(Builder& builder, const Cursor& cursor) override {
    call(builder, Op::BarrierArrive, {empty(builder, cursor.stage)});
  }

 private:
  llvm::Value* barrier_at(Builder& builder, int first_byte, llvm::Value* stage) {
    llvm::Value* bytes = builder.CreateAdd(
        builder.CreateMul(stage, number(builder, mbarrier_bytes)), number(builder, first_byte));
    return builder.CreateGEP(builder.getInt8Ty(), memory_, bytes);
  }
  llvm::Value* full(Builder& builder, llvm::Value* stage) { return barrier_at(builder, 0, stage); }
  llvm::Value* empty(Builder& builder, llvm::Value* stage) {
    return barrier_at(builder, most_stages * mbarrier_bytes, stage);
  }

  static void wait(Builder& builder, llvm::Value* barrier, llvm::Value* parity, const char* name) {
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    llvm::BasicBlock* spin = llvm::BasicBlock::Create(builder.getContext(), name, function);
    llvm::BasicBlock* after =
        llvm::BasicBlock::Create(builder.getContext(), std::string(name) + ".after", function);
    builder.CreateBr(spin);
    builder.SetInsertPoint(spin);
    builder.CreateCondBr(call(builder, Op::BarrierTestWait, {barrier, parity}), after, spin);
    builder.SetInsertPoint(after);
  }

  const int threads_;
  const bool asynchronous_, synchronous_;
  llvm::Value* memory_ = nullptr;
  Cursor cursor_;
};

}  // namespace

Pipeline::Pipeline(int stages) : stages_(stages) {
  if (stages < 2)
    throw Error(ErrorKind::internal,
                "a pipeline of " + std::to_string(stages) + " stages, 2 at least");
}

void Pipeline::open_write(Builder& builder, llvm::Value* exists) {
  exists_ = exists;
  writing_.emplace(builder, exists, "write");
}

std::vector<llvm::Value*> Pipeline::pause_write(Builder&, std::span<llvm::Value* const> values) {
  std::vector<llvm::Value*> none;
  for (const llvm::Value* value : values)
    none.push_back(llvm::Constant::getNullValue(value->getType()));
  return writing_->close(values, none);
}

unsigned barrier_offset(int taken, int stages) {
  if (taken + stages > most_stages)
    throw Error(ErrorKind::internal,
                "pipelines of " + std::to_string(taken + stages) + " stages together");
  return static_cast<unsigned>(taken * mbarrier_bytes);
}

Cursor Pipeline::first(Builder& builder) const { return {number(builder, 0), number(builder, 0)}; }

Cursor Pipeline::next(Builder& builder, const Cursor& cursor) const {
  llvm::Value* stage = builder.CreateAdd(cursor.stage, number(builder, 1));
  llvm::Value* wraps = builder.CreateICmpEQ(stage, number(builder, stages_));
  llvm::Value* flipped = builder.CreateXor(cursor.parity, number(builder, 1));
  return {builder.CreateSelect(wraps, number(builder, 0), stage),
          builder.CreateSelect(wraps, flipped, cursor.parity)};
}

Cursor Pipeline::last_ahead(Builder& builder, const Cursor& cursor) const {
  llvm::Value* same_round = builder.CreateICmpEQ(cursor.stage, number(builder, 0));
  llvm::Value* before = builder.CreateSub(cursor.stage, number(builder, 1));
  llvm::Value* flipped = builder.CreateXor(cursor.parity, number(builder, 1));
  return {builder.CreateSelect(same_round, number(builder, stages_ - 1), before),
          builder.CreateSelect(same_round, cursor.parity, flipped)};
}

std::unique_ptr<Pipeline> make_group_pipeline(int stages) {
  return std::make_unique<GroupPipeline>(stages);
}

std::unique_ptr<Pipeline> make_barrier_pipeline(int stages, int threads, bool asynchronous,
                                                bool synchronous) {
  return std::make_unique<BarrierPipeline>(stages, threads, asynchronous, synchronous);
}

}  // namespace dyn::ptx
