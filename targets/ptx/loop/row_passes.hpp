#pragma once
// The work of a thread for one point of the parallel axes, or for a vector of points: passes over
// the reduction axes, and the stores after them.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/ptx/loop/class.hpp"
#include "targets/ptx/loop/row_reduction.hpp"

namespace dyn::ptx {

/// The type of a class's indices: i32 or i64.
llvm::IntegerType* index_type(codegen::Builder& builder, const LoopClass& loop_class);

/// The passes of a class: with values that it keeps between them where it keeps rows.
codegen::LoopPasses passes_of(const LoopProblem& problem, const LoopClass& loop_class);

class RowPasses {
 public:
  RowPasses(codegen::Builder& builder, const LoopProblem& loop, const LoopClass& loop_class,
            codegen::KernelArgsValues args, const RowThreads& row);

  /// The index of a parallel axis; along the lane axis, of a vector's first element.
  void set_index(int axis, llvm::Value* index);
  /// The number in a slot, as an index.
  llvm::Value* slot(int slot);

  /// `loops`: those over the reduction axes, outermost first; the lane axis, where it is one of
  /// them, is the last.
  void emit(const std::vector<rkernel::Loop>& loops);

 private:
  using Values = std::vector<llvm::Value*>;
  /// Emits bodies of one width: addresses and values are known to it alone.
  struct Lanes {
    Lanes(codegen::Builder& builder, const LoopProblem& loop, const LoopClass& loop_class,
          codegen::KernelArgsValues args, int width);
    codegen::Operands operands;
    codegen::ExprCompiler compiler;
  };
  using Active = std::vector<Lanes*>;

  llvm::Value* index(std::int64_t value) const;
  llvm::Value* extent(int axis) { return slot(loop_.slots.extent(axis)); }
  int width_of(const Lanes& lanes) const { return lanes.operands.width(); }
  Lanes& single() { return *lanes_.back(); }
  bool shares_row() const { return row_.count > 1; }

  void enter(codegen::AxisSet inner, std::span<const int> roots = {});
  void leave();
  codegen::AxisSet axes_from(std::size_t depth) const;
  std::vector<codegen::Reduction> reductions_of(const codegen::LoopPass& pass);
  Values neutral(const codegen::LoopPass& pass, int width);

  Values turned(int operand);
  void emit_square();
  void emit_vector_or_tail();
  void emit_passes(Active active);
  Values over_loops(const codegen::LoopPass& pass, std::size_t depth, const Values& accumulators);
  Values over_elements(const codegen::LoopPass& pass, Lanes& lanes, llvm::Value* begin,
                       llvm::Value* end, llvm::Value* step, const Values& accumulators);
  Values over_row(const codegen::LoopPass& pass, const Values& accumulators);
  Values body(const codegen::LoopPass& pass, Lanes& lanes, const Values& accumulators);
  using Kept = std::map<int, llvm::Value*>;  ///< by expression
  struct Parts {
    std::size_t begin, end;
  };
  Values over_kept(const codegen::LoopPass& pass, const Values& accumulators);
  Values over_part(const codegen::LoopPass& pass, std::size_t part, const Values& sums);
  Values kept_body(const codegen::LoopPass& pass, Kept& kept, const Values& sums);
  Values close_parts(codegen::Conditional& exist, const codegen::LoopPass& pass, const Parts& parts,
                     const Values& next, const Values& sums);
  llvm::Value* first_of_part(std::size_t part);
  llvm::Value* part_exists(std::size_t part);
  Values merged(const codegen::LoopPass& pass, const Values& vectors, const Values& accumulators);
  Values combined(const codegen::LoopPass& pass, const Values& partial, int place);
  void emit_final_stores();

  codegen::Builder& builder_;
  const LoopProblem& loop_;
  const rkernel::Problem& problem_;
  const LoopClass& class_;
  codegen::LoopPasses passes_;
  int reducing_passes_ = 0;
  RowThreads row_;
  std::vector<std::unique_ptr<Lanes>> lanes_;  ///< of vectors, where there are some; of elements
  std::vector<Kept> kept_;                     ///< of each of the thread's vectors
  Active active_;                              ///< those whose scopes are open
  std::vector<rkernel::Loop> loops_;
  llvm::Value* turned_from_ = nullptr;  ///< the square's first index along the turned axis
};

}  // namespace dyn::ptx
