#pragma once
// Synchronises the threads of a block over the stages in shared memory: which are filled, and which
// may be filled again.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "targets/llvm/code/loops.hpp"

namespace dyn::ptx {

/// A place in the ring of stages, i32 values: the stage, and the parity of the rounds made so far.
/// It goes on from ticket to ticket.
struct Cursor {
  llvm::Value *stage = nullptr, *parity = nullptr;
};

/// Every thread copies and computes. For each step of the reduction, in this order:
///   begin_read(step's cursor);
///   begin_write(cursor of the step that is stages - 1 later, whether there is one); ... its copies
///   ...; end_write();
///   ... the step's multiplications ...; end_read(step's cursor)
/// after begin_write() and end_write() for the first stages - 1 steps. Between pause_write() and
/// resume_write() the thread may multiply and end_read().
class Pipeline {
 public:
  /// Throws Error(internal) for fewer than two.
  explicit Pipeline(int stages);
  virtual ~Pipeline() = default;

  /// Call this once, at the start of the kernel. `memory`: the block's shared memory, of which the
  /// first 128 bytes are the pipeline's.
  virtual void prepare(codegen::Builder& builder, llvm::Value* memory, llvm::Value* thread) = 0;
  virtual void begin_write(codegen::Builder& builder, const Cursor& cursor,
                           llvm::Value* exists) = 0;
  virtual void end_write(codegen::Builder& builder) = 0;
  /// Values made since begin_write(); zeros where there is no step.
  std::vector<llvm::Value*> pause_write(codegen::Builder& builder,
                                        std::span<llvm::Value* const> values);
  void resume_write(codegen::Builder& builder) { open_write(builder, exists_); }
  virtual void begin_read(codegen::Builder& builder, const Cursor& cursor) = 0;
  virtual void end_read(codegen::Builder& builder, const Cursor& cursor) = 0;

  Cursor first(codegen::Builder& builder) const;
  Cursor next(codegen::Builder& builder, const Cursor& cursor) const;
  /// stages - 1 steps later.
  Cursor last_ahead(codegen::Builder& builder, const Cursor& cursor) const;
  int stages() const { return stages_; }

 protected:
  /// What follows runs where the step `exists`.
  void open_write(codegen::Builder& builder, llvm::Value* exists);
  void close_write() { writing_->close(); }

 private:
  int stages_;
  llvm::Value* exists_ = nullptr;
  std::optional<codegen::Conditional> writing_;
};

/// Groups of copies and one barrier of the block for each step.
std::unique_ptr<Pipeline> make_group_pipeline(int stages);

/// Two mbarriers for each stage: threads wait for each other only where one would overtake the
/// ring. The thread's asynchronous copies, its own stores, or both arrive at a full stage.
std::unique_ptr<Pipeline> make_barrier_pipeline(int stages, int threads, bool asynchronous,
                                                bool synchronous);

/// Bytes at the start of shared memory for mbarriers.
inline constexpr int pipeline_bytes = 128;
/// The start of a pipeline's memory, `taken` stages after that of the first. Throws Error(internal)
/// where `stages` more do not fit.
unsigned barrier_offset(int taken, int stages);

}  // namespace dyn::ptx
