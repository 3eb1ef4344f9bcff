#include "targets/ptx/loop/emitter.hpp"

#include <llvm/IR/Module.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/divider.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/loop/row_passes.hpp"
#include "targets/ptx/loop/simplify.hpp"

namespace dyn::ptx {

namespace {

using codegen::CountedLoop;
using llvm::Value;

/// The blocks that a part has.
struct PartPlace {
  codegen::KernelArgsValues args;
  Value *block, *blocks;  ///< i32: the number of this one, and how many there are
};

class LoopEmitter final : public rkernel::Emitter {
 public:
  LoopEmitter(codegen::Builder& builder, const LoopPart& part, const PartPlace& place)
      : loop_(part.problem),
        class_(part.shape_class),
        tree_(class_.tree),
        builder_(builder),
        place_(place),
        threads_(rkernel::threads_below_top(tree_)) {
    row_.count = loop_.lanes_reduced() ? tree_.layers[1].units : 1;
  }

  void emit() {
    Value* thread = call(builder_, Op::Thread);
    row_.member =
        builder_.CreateURem(thread, builder_.getInt32(static_cast<std::uint32_t>(row_.count)));
    Value* row_of_block = index_of(
        builder_.CreateUDiv(thread, builder_.getInt32(static_cast<std::uint32_t>(row_.count))));
    rows_.emplace(builder_, loop_, class_, place_.args, row_);
    CountedLoop tickets(builder_, index_of(place_.block), slot(loop_.tickets_slot),
                        index_of(place_.blocks), "ticket");
    const int rows = threads_ / row_.count;
    if (rows == 1) {
      emit_point(tickets.index());
    } else {
      Value* first = builder_.CreateMul(
          tickets.index(),
          llvm::ConstantInt::getSigned(tickets.index()->getType(), std::int64_t{rows}));
      Value* point = builder_.CreateAdd(first, row_of_block);
      codegen::Conditional exists(builder_, builder_.CreateICmpSLT(point, slot(loop_.points_slot)),
                                  "point");
      emit_point(point);
      exists.close();
    }
    tickets.close();
  }

  void open(int level, const rkernel::Loop& loop) override {
    if (level == top())
      rows_->set_index(loop.axis, digits_[next_digit_++]);
    else if (loop.kind == rkernel::LoopKind::TemporalReduction)
      reductions_.push_back(loop);
  }

  void close(int level, const rkernel::Loop& loop) override {
    if (level == top()) rows_->set_index(loop.axis, nullptr);
  }

  void move(int, const rkernel::Move&) override {}

  /// Emits a thread's work for one point of the parallel axes.
  void leaf(const rkernel::Layer& registers) override {
    // Loops that no layer above divides among threads belong to this thread alone.
    rows_->emit(reductions_.empty() ? registers.loops : reductions_);
  }

 private:
  int top() const { return static_cast<int>(tree_.layers.size()) - 1; }
  Value* index_of(Value* number) {
    return builder_.CreateZExt(number, index_type(builder_, class_));
  }
  Value* slot(int slot) { return rows_->slot(slot); }

  /// Splits the number of a point into one index for each loop of the grid, the last one fastest.
  void emit_point(Value* point) {
    const std::vector<rkernel::Loop>& loops = tree_.layers.back().loops;
    digits_.assign(loops.size(), nullptr);
    const auto whole = [&](std::int64_t number) {
      return llvm::ConstantInt::getSigned(point->getType(), number);
    };
    Value* neighbour = nullptr;
    if (class_.turn.exists()) {
      neighbour = builder_.CreateAnd(point, whole(class_.turn.threads - 1));
      point = builder_.CreateLShr(point, llvm::Log2_32(static_cast<unsigned>(class_.turn.threads)));
    }
    for (std::size_t i = loops.size(); i-- > 0;) {
      const DigitSlots& of = loop_.digits[i];
      Value* digit = point;
      if (i > 0) {
        Value* rest = divided(builder_, point, slot(of.multiplier), slot(of.shift));
        digit = builder_.CreateSub(point, builder_.CreateMul(rest, slot(of.count)));
        point = rest;
      }
      const bool vectors = loops[i].axis == loop_.problem.lane_axis;
      const bool turned = loops[i].axis == class_.turn.axis;
      if (turned)
        digit =
            builder_.CreateAdd(builder_.CreateMul(digit, whole(class_.turn.threads)), neighbour);
      digits_[i] = vectors || turned ? builder_.CreateMul(digit, whole(class_.width())) : digit;
    }
    rkernel::walk(tree_, *this);
  }

  const LoopProblem& loop_;
  const LoopClass& class_;
  const rkernel::RKernel& tree_;
  codegen::Builder& builder_;
  const PartPlace place_;
  const int threads_;
  RowThreads row_;
  std::optional<RowPasses> rows_;

  std::vector<Value*> digits_;
  std::size_t next_digit_ = 0;
  std::vector<rkernel::Loop> reductions_;  ///< outermost first
};

/// Of several parts: those that come before are passed over.
void emit_parts(codegen::Builder& builder, const codegen::KernelArgsValues& args,
                const std::vector<LoopPart>& parts) {
  const auto words_on = [&](Value* table, std::size_t words) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), table, words);
  };
  Value* block = call(builder, Op::Block);
  std::size_t first_operand = 0, first_int = parts.size() + 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Value* first = load_word(builder, args.ints, static_cast<int>(i));
    Value* end = load_word(builder, args.ints, static_cast<int>(i + 1));
    codegen::Conditional is_own(
        builder,
        builder.CreateAnd(builder.CreateICmpSGE(block, first), builder.CreateICmpSLT(block, end)),
        "part");
    LoopEmitter(
        builder, parts[i],
        {{words_on(args.pointers, first_operand), words_on(args.ints, first_int), args.status},
         builder.CreateSub(block, first),
         builder.CreateSub(end, first)})
        .emit();
    is_own.close();
    first_operand += parts[i].problem.problem.operands.size();
    first_int += static_cast<std::size_t>(parts[i].problem.slots.size());
  }
}

}  // namespace

int loop_shared_bytes(const LoopProblem& problem, const LoopClass& loop_class) {
  int reductions = 0;
  for (const codegen::LoopPass& pass : passes_of(problem, loop_class).passes)
    reductions += static_cast<int>(pass.reductions.size());
  return loop_class.row_threads > 1 ? row_reduction_bytes(reductions, loop_class.row_threads) : 0;
}

void emit_loop_kernel(llvm::Module& module, const std::string& symbol,
                      const std::vector<LoopPart>& parts) {
  int shared_bytes = 0;
  for (const LoopPart& part : parts) {
    rkernel::legalise(part.shape_class.tree, {});
    shared_bytes = std::max(shared_bytes, loop_shared_bytes(part.problem, part.shape_class));
  }
  codegen::Builder builder(module.getContext());
  llvm::Function* function =
      create_kernel(builder, module, symbol,
                    rkernel::threads_below_top(parts.front().shape_class.tree), shared_bytes);
  const codegen::KernelArgsValues args{function->getArg(0), function->getArg(1),
                                       function->getArg(2)};
  if (parts.size() == 1)
    LoopEmitter(builder, parts.front(), {args, call(builder, Op::Block), call(builder, Op::Blocks)})
        .emit();
  else
    emit_parts(builder, args, parts);
  builder.CreateRetVoid();
  simplify(*function);
}

}  // namespace dyn::ptx
