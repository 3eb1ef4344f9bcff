#include "targets/ptx/loop/emitter.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/loop/row_reduction.hpp"

namespace dyn::ptx {

namespace {

using codegen::axis_bit;
using codegen::AxisSet;
using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;
using Values = std::vector<Value*>;

class LoopEmitter final : public rkernel::Emitter {
 public:
  LoopEmitter(llvm::Module& module, const std::string& symbol, const LoopProblem& loop,
              const LoopClass& loop_class)
      : loop_(loop),
        problem_(loop.problem),
        tree_(loop_class.tree),
        builder_(module.getContext()),
        passes_(codegen::plan_passes(problem_, loop.slots, loop_class.lane_classes, false)) {
    threads_ = rkernel::threads_below_top(tree_);
    row_.count = loop.lanes_reduced() ? tree_.layers[1].units : 1;
    int reductions = 0;
    for (const LoopPass& pass : passes_.passes) {
      reductions += static_cast<int>(pass.reductions.size());
      reducing_passes_ += !pass.reductions.empty();
    }
    llvm::Function* function = create_kernel(builder_, module, symbol, threads_,
                                             row_reduction_bytes(reductions, row_.count));
    const codegen::KernelArgsValues args{function->getArg(0), function->getArg(1),
                                         function->getArg(2)};
    operands_.emplace(builder_, problem_, loop.slots, loop_class.lane_classes, args, 1);
    compiler_.emplace(builder_, problem_, *operands_, math_);
  }

  void emit() {
    Value* thread = call(builder_, Op::Thread);
    row_.member =
        builder_.CreateURem(thread, builder_.getInt32(static_cast<std::uint32_t>(row_.count)));
    Value* row_of_block = wide(
        builder_.CreateUDiv(thread, builder_.getInt32(static_cast<std::uint32_t>(row_.count))));
    Value* first = wide(call(builder_, Op::Block));
    CountedLoop tickets(builder_, first, operands_->slot(loop_.tickets_slot),
                        wide(call(builder_, Op::Blocks)), "ticket");
    const int rows = threads_ / row_.count;
    if (rows == 1) {
      emit_point(tickets.index());
    } else {
      Value* point =
          builder_.CreateAdd(builder_.CreateMul(tickets.index(), number(rows)), row_of_block);
      codegen::Conditional exists(
          builder_, builder_.CreateICmpSLT(point, operands_->slot(loop_.points_slot)), "point");
      emit_point(point);
      exists.close();
    }
    tickets.close();
    builder_.CreateRetVoid();
  }

  void open(int level, const rkernel::Loop& loop) override {
    if (level == top())
      operands_->set_index(loop.axis, digits_[next_digit_++]);
    else if (loop.kind == rkernel::LoopKind::TemporalReduction)
      reductions_.push_back(loop);
  }

  void close(int level, const rkernel::Loop& loop) override {
    if (level == top()) operands_->set_index(loop.axis, nullptr);
  }

  void move(int, const rkernel::Move&) override {}

  /// Emits a thread's work for one point of the parallel axes.
  void leaf(const rkernel::Layer& registers) override {
    // Loops that no layer above divides among threads belong to this thread alone.
    if (reductions_.empty()) reductions_ = registers.loops;
    const AxisSet inner = axes_from(0);
    const std::vector<int> final_roots = passes_.final_roots();
    compiler_->enter(inner);
    int place = 0;
    for (const LoopPass& pass : passes_.passes) {
      compiler_->enter(inner, pass.roots);
      const Values partial = over_loops(pass, 0, neutral(pass));
      compiler_->leave();
      const Values results = combined(pass, partial, place);
      for (std::size_t i = 0; i < results.size(); ++i)
        compiler_->bind(pass.reductions[i], results[i]);
      place += static_cast<int>(results.size());
    }
    if (!passes_.final_stores.empty()) emit_final_stores();
    compiler_->leave();
  }

 private:
  int top() const { return static_cast<int>(tree_.layers.size()) - 1; }
  Value* number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }
  Value* wide(Value* value) { return builder_.CreateZExt(value, builder_.getInt64Ty()); }
  Value* extent(int axis) { return operands_->slot(loop_.slots.extent(axis)); }

  void emit_point(Value* point) {
    const std::vector<rkernel::Loop>& loops = tree_.layers.back().loops;
    digits_.assign(loops.size(), nullptr);
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (i == 0) {
        digits_[i] = point;
        break;
      }
      Value* count = extent(loops[i].axis);
      Value* rest = builder_.CreateUDiv(point, count);
      digits_[i] = builder_.CreateSub(point, builder_.CreateMul(rest, count));
      point = rest;
    }
    rkernel::walk(tree_, *this);
  }

  // Passes over the reduction axes.

  AxisSet axes_from(std::size_t depth) const {
    AxisSet axes = 0;
    for (; depth < reductions_.size(); ++depth) axes |= axis_bit(reductions_[depth].axis);
    return axes;
  }

  std::vector<codegen::Reduction> reductions_of(const LoopPass& pass) {
    std::vector<codegen::Reduction> reductions;
    for (const int expr : pass.reductions)
      reductions.emplace_back(builder_, math_, problem_.exprs[static_cast<std::size_t>(expr)]);
    return reductions;
  }

  Values neutral(const LoopPass& pass) {
    Values values;
    for (codegen::Reduction& reduction : reductions_of(pass))
      values.push_back(reduction.neutral(1));
    return values;
  }

  /// Emits the loops from number `depth` on. Where several threads share a loop along the lanes,
  /// this thread takes every `tile`th element.
  Values over_loops(const LoopPass& pass, std::size_t depth, const Values& accumulators) {
    if (depth == reductions_.size()) return body(pass, accumulators);
    const rkernel::Loop& loop = reductions_[depth];
    const bool shared = row_.count > 1 && loop.axis == problem_.lane_axis;
    CountedLoop counted(builder_, shared ? wide(row_.member) : number(0), extent(loop.axis),
                        number(loop.tile), "reduce", accumulators);
    operands_->set_index(loop.axis, counted.index());
    compiler_->enter(axes_from(depth + 1), pass.roots);
    Values carried;
    for (std::size_t i = 0; i < accumulators.size(); ++i) carried.push_back(counted.carried(i));
    const Values next = over_loops(pass, depth + 1, carried);
    compiler_->leave();
    operands_->set_index(loop.axis, nullptr);
    return counted.close(next);
  }

  Values body(const LoopPass& pass, const Values& accumulators) {
    Values next;
    std::vector<codegen::Reduction> reductions = reductions_of(pass);
    compiler_->enter(0);
    for (std::size_t i = 0; i < accumulators.size(); ++i)
      next.push_back(reductions[i].step(
          accumulators[i],
          compiler_->compile(
              problem_.exprs[static_cast<std::size_t>(pass.reductions[i])].args[0])));
    for (const int store : pass.stores)
      compiler_->store(problem_.stores[static_cast<std::size_t>(store)]);
    compiler_->leave();
    return next;
  }

  Values combined(const LoopPass& pass, const Values& partial, int place) {
    if (row_.count == 1) return partial;
    std::vector<codegen::Reduction> reductions = reductions_of(pass);
    return combine(builder_, row_, reductions, partial, place, reducing_passes_ == 1);
  }

  /// Stores values that do not vary along reduction axes: once for each row.
  void emit_final_stores() {
    std::optional<codegen::Conditional> once;
    if (row_.count > 1)
      once.emplace(builder_, builder_.CreateICmpEQ(row_.member, builder_.getInt32(0)), "once");
    compiler_->enter(0);
    for (const int store : passes_.final_stores)
      compiler_->store(problem_.stores[static_cast<std::size_t>(store)]);
    compiler_->leave();
    if (once) once->close();
  }

  const LoopProblem& loop_;
  const rkernel::Problem& problem_;
  const rkernel::RKernel& tree_;
  codegen::Builder builder_;
  codegen::MathOptions math_;
  codegen::LoopPasses passes_;
  int threads_ = 0, reducing_passes_ = 0;
  RowThreads row_;
  std::optional<codegen::Operands> operands_;
  std::optional<codegen::ExprCompiler> compiler_;

  Values digits_;
  std::size_t next_digit_ = 0;
  std::vector<rkernel::Loop> reductions_;  ///< outermost first
};

}  // namespace

void emit_loop_kernel(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                      const LoopClass& loop_class) {
  rkernel::legalise(loop_class.tree, {});
  LoopEmitter(module, symbol, problem, loop_class).emit();
}

}  // namespace dyn::ptx
