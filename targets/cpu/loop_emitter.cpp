#include "targets/cpu/loop_emitter.hpp"

#include <llvm/IR/Module.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "targets/llvm/expr_compiler.hpp"
#include "targets/llvm/loop_passes.hpp"
#include "targets/llvm/loops.hpp"
#include "targets/llvm/reduction.hpp"

namespace dyn::cpu {

namespace {

using codegen::AxisSet;
using codegen::axis_bit;
using codegen::CountedLoop;
using codegen::LoopPass;
using codegen::LoopPasses;
using codegen::Reduction;
using llvm::Value;
using Values = std::vector<Value*>;

class LoopEmitter final : public rkernel::Emitter {
 public:
  LoopEmitter(llvm::Module& module, const std::string& symbol, const LoopProblem& loop, const LoopClass& loop_class)
      : loop_(loop), problem_(loop.problem), class_(loop_class), width_(loop.isa.f32_lanes), builder_(module.getContext()),
        math_{loop.isa.fma}, passes_(codegen::plan_passes(problem_, loop.slots, loop_class.lane_classes, loop_class.scratch_values > 0)) {
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, i64, i64, pointer}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
    function_->setDoesNotThrow();
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
    operands_.emplace(builder_, problem_, loop.slots, class_.lane_classes,
                      codegen::load_kernel_args(builder_, function_->getArg(0)), width_);
    compiler_.emplace(builder_, problem_, *operands_, math_);
  }

  void emit() {
    Value* first = function_->getArg(1);
    Value* end = builder_.CreateAdd(first, function_->getArg(2));
    codegen::Conditional any(builder_, builder_.CreateICmpSLT(first, end), "tickets");
    const Values start = digits_of(first);
    CountedLoop tickets(builder_, first, end, builder_.getInt64(1), "ticket", start);
    digits_.clear();
    for (std::size_t i = 0; i < start.size(); ++i) digits_.push_back(tickets.carried(i));
    rkernel::walk(loop_.tree, *this);
    tickets.close(following_digits());
    any.close();
    builder_.CreateRetVoid();
  }

  void open(int, const rkernel::Loop& loop) override {
    Value* digit = digits_[next_digit_++];
    if (loop.axis != problem_.lane_axis) {
      operands_->set_index(loop.axis, digit);
      return;
    }
    Value* chunk = operands_->slot(loop_.chunk_slot);
    chunk_begin_ = builder_.CreateMul(digit, chunk);
    Value* end = builder_.CreateAdd(chunk_begin_, chunk);
    chunk_end_ = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, extent(loop.axis));
  }

  void close(int, const rkernel::Loop& loop) override { operands_->set_index(loop.axis, nullptr); }

  void move(int, const rkernel::Move&) override {}

  void leaf(const rkernel::Layer& registers) override {
    for (const rkernel::Loop& loop : registers.loops) {
      if (loop.axis == problem_.lane_axis) block_ = static_cast<int>(loop.tile);
      else serial_axes_.push_back(loop.axis);
    }
    for (const int axis : serial_axes_) inner_ |= axis_bit(axis);
    inner_ |= axis_bit(problem_.lane_axis);
    if (loop_.lanes_reduced()) emit_reduced_row();
    else emit_chunk();
  }

 private:
  Value* number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }
  Value* extent(int axis) { return operands_->slot(loop_.slots.extent(axis)); }
  int vectors() const { return block_ / width_; }

  // Tickets.

  /// Slots of the number of values of each digit of a ticket, slowest first.
  std::vector<int> digit_slots() const {
    std::vector<int> slots;
    for (const rkernel::Loop& loop : loop_.tree.layers.back().loops)
      slots.push_back(loop.axis == problem_.lane_axis ? loop_.chunks_slot : loop_.slots.extent(loop.axis));
    return slots;
  }

  Values digits_of(Value* ticket) {
    const std::vector<int> slots = digit_slots();
    Values digits(slots.size());
    for (std::size_t i = slots.size(); i-- > 0;) {
      if (i == 0) {
        digits[i] = ticket;
        break;
      }
      Value* count = operands_->slot(slots[i]);
      digits[i] = builder_.CreateURem(ticket, count);
      ticket = builder_.CreateUDiv(ticket, count);
    }
    return digits;
  }

  Values following_digits() {
    const std::vector<int> slots = digit_slots();
    Values next(slots.size());
    Value* carry = number(1);
    for (std::size_t i = slots.size(); i-- > 0;) {
      Value* sum = builder_.CreateAdd(digits_[i], carry);
      Value* wraps = builder_.CreateICmpEQ(sum, operands_->slot(slots[i]));
      next[i] = builder_.CreateSelect(wraps, number(0), sum);
      carry = builder_.CreateZExt(wraps, builder_.getInt64Ty());
    }
    return next;
  }

  // Bodies: one vector each, at the lanes [begin, begin + width), masked or full.

  struct Body {
    Value* begin = nullptr;
    Value* mask = nullptr;
    std::vector<std::pair<int, Value*>> bound;  ///< reductions that are over, one value for each lane
  };

  void in_body(const Body& body, const std::function<void()>& emit_it) {
    operands_->set_index(problem_.lane_axis, body.begin);
    operands_->set_mask(body.mask);
    compiler_->enter(0);
    for (const auto& [expr, value] : body.bound) compiler_->bind(expr, value);
    emit_it();
    compiler_->leave();
    operands_->set_mask(nullptr);
    operands_->set_index(problem_.lane_axis, nullptr);
  }

  /// The first lanes, up to `end`.
  Value* mask_until(Value* begin, Value* end) {
    Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateSub(end, begin), number(width_));
    llvm::Type* narrow = builder_.getInt32Ty();
    Value* count = codegen::broadcast(builder_, builder_.CreateTrunc(left, narrow), width_);
    return builder_.CreateICmpSLT(codegen::iota(builder_, narrow, width_), count);
  }

  Value* rounded_down(Value* count, std::int64_t multiple) { return builder_.CreateAnd(count, number(-multiple)); }

  // Lanes along a parallel axis: reductions are sequential, each lane has its own.

  void emit_chunk() {
    const std::vector<int> roots = passes_.final_roots();
    compiler_->enter(inner_, passes_.passes.empty() ? std::span<const int>(roots) : std::span<const int>());
    Value* whole = builder_.CreateAdd(chunk_begin_, rounded_down(builder_.CreateSub(chunk_end_, chunk_begin_), block_));
    CountedLoop main(builder_, chunk_begin_, whole, number(block_), "lanes");
    emit_lanes(main.index(), vectors(), nullptr);
    main.close();
    CountedLoop rest(builder_, whole, chunk_end_, number(width_), "last_lanes");
    emit_lanes(rest.index(), 1, mask_until(rest.index(), chunk_end_));
    rest.close();
    compiler_->leave();
  }

  void emit_lanes(Value* begin, int count, Value* mask) {
    std::vector<Body> bodies;
    for (int i = 0; i < count; ++i) bodies.push_back({builder_.CreateAdd(begin, number(i * width_)), mask, {}});
    for (const LoopPass& pass : passes_.passes) {
      const Values results = over_serial_axes(pass, 0, neutral(pass, count), nullptr, [&](Values accumulators, Value*) {
        for (std::size_t i = 0; i < bodies.size(); ++i) sweep(pass, bodies[i], i, bodies.size(), accumulators, nullptr);
        return accumulators;
      });
      for (std::size_t i = 0; i < bodies.size(); ++i)
        for (std::size_t r = 0; r < pass.reductions.size(); ++r)
          bodies[i].bound.emplace_back(pass.reductions[r], results[r * bodies.size() + i]);
    }
    for (const Body& body : bodies) in_body(body, [&] { store_all(passes_.final_stores); });
  }

  // Lanes along a reduction axis.

  void emit_reduced_row() {
    compiler_->enter(inner_);
    Value* lanes = extent(problem_.lane_axis);
    padded_lanes_ = rounded_down(builder_.CreateAdd(lanes, number(reduction_lanes - 1)), reduction_lanes);
    scratch_size_ = padded_lanes_;
    for (const int axis : serial_axes_) scratch_size_ = builder_.CreateMul(scratch_size_, extent(axis));
    for (const LoopPass& pass : passes_.passes) {
      compiler_->enter(inner_, pass.roots);
      const auto lane_loops = [&](const Values& accumulators, Value* row) { return over_lanes(pass, accumulators, row); };
      const Values results = over_serial_axes(pass, 0, neutral(pass, vectors()), number(0), lane_loops);
      compiler_->leave();
      const std::size_t parts = static_cast<std::size_t>(vectors());
      for (std::size_t r = 0; r < pass.reductions.size(); ++r)
        compiler_->bind(pass.reductions[r], reduction(pass.reductions[r])
                                                .merge(std::span<Value* const>(results).subspan(r * parts, parts)));
    }
    compiler_->enter(0, passes_.final_roots());
    store_all(passes_.final_stores);
    compiler_->leave();
    compiler_->leave();
  }

  Values over_lanes(const LoopPass& pass, const Values& initial, Value* row) {
    const std::size_t count = static_cast<std::size_t>(vectors());
    Value* lanes = extent(problem_.lane_axis);
    Value* whole = rounded_down(lanes, block_);
    CountedLoop main(builder_, number(0), whole, number(block_), "lanes", initial);
    Values accumulators;
    for (std::size_t i = 0; i < initial.size(); ++i) accumulators.push_back(main.carried(i));
    for (std::size_t i = 0; i < count; ++i) {
      const Body body{builder_.CreateAdd(main.index(), number(static_cast<int>(i) * width_)), nullptr, {}};
      sweep(pass, body, i, count, accumulators, row);
    }
    accumulators = main.close(accumulators);
    for (std::size_t i = 0; i < count; ++i) {
      Value* begin = builder_.CreateAdd(whole, number(static_cast<int>(i) * width_));
      codegen::Conditional some(builder_, builder_.CreateICmpSLT(begin, lanes), "last_lanes");
      const Body body{begin, mask_until(begin, lanes), {}};
      Values inside = accumulators;
      sweep(pass, body, i, count, inside, row);
      accumulators = some.close(inside, accumulators);
    }
    return accumulators;
  }

  // Passes.

  using Innermost = std::function<Values(const Values& accumulators, Value* scratch_row)>;

  /// The loops over all reduction axes without lanes, from number `depth` on.
  Values over_serial_axes(const LoopPass& pass, std::size_t depth, const Values& accumulators, Value* row,
                          const Innermost& innermost) {
    if (depth == serial_axes_.size())
      return innermost(accumulators, row == nullptr ? nullptr : builder_.CreateMul(row, padded_lanes_));
    const int axis = serial_axes_[depth];
    CountedLoop loop(builder_, number(0), extent(axis), number(1), "reduce", accumulators);
    operands_->set_index(axis, loop.index());
    AxisSet inner = axis_bit(problem_.lane_axis);
    for (std::size_t i = depth + 1; i < serial_axes_.size(); ++i) inner |= axis_bit(serial_axes_[i]);
    compiler_->enter(inner, loop_.lanes_reduced() ? std::span<const int>(pass.roots) : std::span<const int>());
    Values carried;
    for (std::size_t i = 0; i < accumulators.size(); ++i) carried.push_back(loop.carried(i));
    Value* inner_row =
        row == nullptr ? nullptr : builder_.CreateAdd(builder_.CreateMul(row, extent(axis)), loop.index());
    const Values next = over_serial_axes(pass, depth + 1, carried, inner_row, innermost);
    compiler_->leave();
    operands_->set_index(axis, nullptr);
    return loop.close(next);
  }

  Reduction reduction(int expr) { return {builder_, math_, problem_.exprs[static_cast<std::size_t>(expr)]}; }

  Values neutral(const LoopPass& pass, int count) {
    Values values;
    for (const int expr : pass.reductions)
      values.insert(values.end(), static_cast<std::size_t>(count), reduction(expr).neutral(width_));
    return values;
  }

  /// One vector of a pass; accumulator `index` of `count` for each reduction.
  void sweep(const LoopPass& pass, const Body& body, std::size_t index, std::size_t count, Values& accumulators, Value* row) {
    in_body(body, [&] {
      for (const int expr : pass.loaded) compiler_->bind(expr, load_scratch(expr, row, body.begin));
      for (std::size_t r = 0; r < pass.reductions.size(); ++r) {
        Value*& accumulator = accumulators[r * count + index];
        Value* next = compiler_->compile(problem_.exprs[static_cast<std::size_t>(pass.reductions[r])].args[0]);
        // Lanes that do not exist matter only where lanes are merged.
        accumulator = reduction(pass.reductions[r]).masked_step(accumulator, next, loop_.lanes_reduced() ? body.mask : nullptr);
      }
      for (const int expr : pass.saved) store_scratch(expr, compiler_->compile(expr), row, body.begin);
      store_all(pass.stores);
    });
  }

  void store_all(const std::vector<int>& stores) {
    for (const int store : stores) compiler_->store(problem_.stores[static_cast<std::size_t>(store)]);
  }

  // Scratch: for each kept expression all elements of the reduction axes, the lane axis padded to whole blocks.

  Value* scratch_pointer(int expr, Value* row, Value* begin) {
    std::size_t position = 0;
    while (passes_.scratch[position] != expr) ++position;
    Value* element = builder_.CreateMul(scratch_size_, number(static_cast<std::int64_t>(position)));
    element = builder_.CreateAdd(builder_.CreateAdd(element, row), begin);
    llvm::Type* unit = builder_.getIntNTy(static_cast<unsigned>(scratch_element_bytes(loop_)) * 8);
    return builder_.CreateGEP(unit, function_->getArg(3), element);
  }

  llvm::Align scratch_align() const { return llvm::Align(static_cast<std::uint64_t>(scratch_element_bytes(loop_))); }

  Value* load_scratch(int expr, Value* row, Value* begin) {
    llvm::Type* type = codegen::register_type(builder_.getContext(), problem_.exprs[static_cast<std::size_t>(expr)].dtype);
    return builder_.CreateAlignedLoad(codegen::lanes_of(type, width_), scratch_pointer(expr, row, begin), scratch_align());
  }

  void store_scratch(int expr, Value* value, Value* row, Value* begin) {
    builder_.CreateAlignedStore(value, scratch_pointer(expr, row, begin), scratch_align());
  }

  const LoopProblem& loop_;
  const rkernel::Problem& problem_;
  const LoopClass& class_;
  int width_;
  codegen::Builder builder_;
  codegen::MathOptions math_;
  LoopPasses passes_;
  llvm::Function* function_ = nullptr;
  std::optional<codegen::Operands> operands_;
  std::optional<codegen::ExprCompiler> compiler_;

  Values digits_;
  std::size_t next_digit_ = 0;
  Value *chunk_begin_ = nullptr, *chunk_end_ = nullptr;
  int block_ = 0;
  std::vector<int> serial_axes_;
  AxisSet inner_ = 0;
  Value *padded_lanes_ = nullptr, *scratch_size_ = nullptr;
};

}  // namespace

void emit_loop_kernel(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                      const LoopClass& loop_class) {
  rkernel::legalise(problem.tree, {.vector_registers = problem.isa.vector_registers});
  LoopEmitter(module, symbol, problem, loop_class).emit();
}

}  // namespace dyn::cpu
