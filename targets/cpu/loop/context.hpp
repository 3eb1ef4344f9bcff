#pragma once
// What every part of the emitter of loop kernels works with, and what a ticket covers.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/cpu/loop/class.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/llvm/problem/reduction.hpp"

namespace dyn::cpu {

/// How a kernel computes on an instruction set.
codegen::MathOptions math_options(const codegen::Isa& isa);

/// Which function of a kernel: the one that every problem has, or the second stage of one whose
/// reductions may be cut in slices.
enum class LoopStage : std::uint8_t { First, Merge };

using LoopValues = std::vector<llvm::Value*>;
/// Expressions and their values, which come from elsewhere than the compiler.
using BoundExprs = std::vector<std::pair<int, llvm::Value*>>;
/// Axes, and an index along each.
using AxisIndices = std::vector<std::pair<int, llvm::Value*>>;

/// The indices [begin, end) of an axis.
struct LoopRange {
  llvm::Value *begin, *end;
};
/// The ranges of axes that a ticket does not cover whole.
using AxisRanges = std::vector<std::pair<int, LoopRange>>;

/// What one ticket covers. Along axes that are not here it covers everything.
struct LoopTicket {
  std::optional<LoopRange> lanes;  ///< along the lane axis, where that is parallel
  std::optional<LoopRange> steps;  ///< along LoopProblem::steps_axis(), where there is one
  AxisRanges slice;                ///< along the reduction axes, where slices divide them
  AxisIndices slice_digits;        ///< the position of that slice along each reduction axis
  AxisIndices row;                 ///< along each other parallel axis
};

/// The loops of the tree's innermost layer.
struct RegisterLoops {
  explicit RegisterLoops(const LoopProblem& loop);

  codegen::AxisSet inner = 0;    ///< all their axes
  int block = 0;                 ///< lanes of one unrolled body
  std::vector<int> serial_axes;  ///< reduction axes without lanes
};

/// A function while it is written: the builder stands where the next instruction goes.
struct LoopFunction {
  LoopFunction(llvm::Module& module, const std::string& symbol, const LoopProblem& loop,
               const LoopClass& loop_class);

  codegen::Builder builder;
  llvm::Function* function;
  codegen::Operands operands;
  codegen::ExprCompiler compiler;
  llvm::Value* shared;  ///< memory of partial results; nullptr: reductions are never cut
};

/// The function, what it computes, and how. Lives as long as the function is written.
struct LoopContext {
  LoopContext(LoopFunction& written, const LoopProblem& source, const LoopClass& made_for,
              LoopStage of);

  const LoopProblem& loop;
  const rkernel::Problem& problem;
  const LoopClass& loop_class;
  const LoopStage stage;
  const int width;  ///< lanes of a vector
  const codegen::LoopPasses passes;
  const RegisterLoops registers;
  codegen::Builder& builder;
  codegen::Operands& operands;
  codegen::ExprCompiler& compiler;
  llvm::Function* const function;
  llvm::Value* const scratch;  ///< memory of the thread that runs the ticket
  llvm::Value* const shared;   ///< as LoopFunction::shared

  bool merging() const { return stage == LoopStage::Merge; }
  /// Whether tickets may have slices of the reductions.
  bool slices() const { return loop.sliced && !merging(); }
  int vectors() const { return registers.block / width; }  ///< of one unrolled body
  int chunk_slot() const { return merging() ? loop.sliced->merge_chunk : loop.chunk_slot; }
  const rkernel::Expr& expr(int index) const {
    return problem.exprs[static_cast<std::size_t>(index)];
  }
  const rkernel::Operand& operand(int index) const {
    return problem.operands[static_cast<std::size_t>(index)];
  }
  bool is_reduced(int axis) const {
    return problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction;
  }
  /// Whether an operand is read element by element along the lanes, at no gathered place.
  bool is_streamed_in(int operand) const;
  /// The axis along which the next ticket has the next index, where it is neither the lanes' nor
  /// the transposed one; -1: there is none.
  int next_ticket_axis() const;

  llvm::Value* number(std::int64_t value) const {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* extent(int axis) const { return operands.slot(loop.slots.extent(axis)); }
  /// The indices of an axis that are in `ranges`, else all.
  LoopRange range_of(const AxisRanges& ranges, int axis) const;
  llvm::Value* rounded_down(llvm::Value* count, std::int64_t multiple) const;
  /// The mask of one vector of lanes from `begin` on: those before `end` exist.
  llvm::Value* mask_until(llvm::Value* begin, llvm::Value* end) const;
  codegen::Reduction reduction(int index) const;
};

}  // namespace dyn::cpu
