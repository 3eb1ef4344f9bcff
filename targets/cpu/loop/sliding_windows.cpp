// Reductions over sliding windows, such as pools: lanes along a parallel axis over few elements
// each, so that accumulators stay in registers.

#include <algorithm>
#include <map>

#include "src/base/bytes.hpp"
#include "targets/cpu/loop/bodies.hpp"
#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/lane_ranges.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::axis_bit;
using codegen::Conditional;
using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

namespace {

/// What an expression is where an operand has its fill; nothing where it depends on more than that
/// and constants.
std::optional<double> number_outside(const rkernel::Problem& problem, int position, int operand) {
  using rkernel::ExprOp;
  const rkernel::Expr& expr = problem.exprs[static_cast<std::size_t>(position)];
  const auto argument = [&](int i) { return number_outside(problem, expr.args[i], operand); };
  switch (expr.op) {
    case ExprOp::Constant:
      return is_float(expr.dtype) ? expr.number : static_cast<double>(expr.integer);
    case ExprOp::Load:
      if (expr.args[0] >= 0 || expr.operand != operand) return std::nullopt;
      return problem.operands[static_cast<std::size_t>(operand)].fill;
    case ExprOp::Cast: return is_float(expr.dtype) ? argument(0) : std::nullopt;
    case ExprOp::Add:
    case ExprOp::Sub:
    case ExprOp::Mul: break;
    default: return std::nullopt;
  }
  const std::optional<double> a = argument(0), b = argument(1);
  if (!a || !b || expr.dtype != DType::f32) return std::nullopt;
  const auto x = static_cast<float>(*a), y = static_cast<float>(*b);
  return expr.op == ExprOp::Add ? x + y : expr.op == ExprOp::Sub ? x - y : x * y;
}

/// Whether a reduction gives the same without the elements for which a guard of the operand does
/// not hold.
bool leaves_out(const LoopContext& context, const rkernel::Expr& reduced, int operand) {
  const rkernel::Operand& source = context.operand(operand);
  const auto outside = [&](int position) {
    return number_outside(context.problem, position, operand);
  };
  if (outside(reduced.args[0]) == codegen::neutral_number(reduced.op)) return true;
  const rkernel::Expr* product = &context.expr(reduced.args[0]);
  while (product->op == rkernel::ExprOp::Cast && is_float(product->dtype) &&
         is_float(context.expr(product->args[0]).dtype))
    product = &context.expr(product->args[0]);
  return source.absent_outside && reduced.op == rkernel::ExprOp::ReduceSum &&
         product->op == rkernel::ExprOp::Mul &&
         (outside(product->args[0]) == 0 || outside(product->args[1]) == 0);
}

/// The operand whose elements outside of its guards no reduction of a pass needs.
std::optional<int> operand_left_out(const LoopContext& context, const LoopPass& pass) {
  for (int operand = 0; operand < static_cast<int>(context.problem.operands.size()); ++operand) {
    if (context.operand(operand).guards.empty()) continue;
    if (std::ranges::all_of(pass.reductions, [&](int expr) {
          return leaves_out(context, context.expr(expr), operand);
        }))
      return operand;
  }
  return std::nullopt;
}

/// The axis of a window, at steps of 1, of which a guard leaves a range.
std::optional<int> bounded_axis(const LoopContext& context, const rkernel::Guard& guard) {
  std::optional<int> bounded;
  for (const graph::CoordTerm& term : guard.terms) {
    if ((context.registers.inner & axis_bit(term.axis)) == 0) continue;
    if (bounded || term.axis == context.problem.lane_axis || term.factor.constant() != 1)
      return std::nullopt;
    bounded = term.axis;
  }
  return bounded;
}

/// The elements of a window that lie inside of an image.
struct InsideWindow {
  AxisRanges ranges;        ///< of the axes that guards bound
  int operand = 0;          ///< whose guards these are
  std::vector<int> guards;  ///< which hold in all of the ranges
};

/// Elements outside of an image change nothing where they are neutral to all reductions: loops over
/// a window leave them out. `written_out`: the axis of a window without a loop; -1: all have one.
InsideWindow inside_window(const LoopContext& context, const LoopPass& pass, int written_out) {
  const std::optional<int> operand = operand_left_out(context, pass);
  if (!operand) return {};
  InsideWindow inside{{}, *operand, {}};
  codegen::Builder& builder = context.builder;
  const auto& guards = context.operand(*operand).guards;
  for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
    const std::optional<int> axis = bounded_axis(context, guards[static_cast<std::size_t>(guard)]);
    if (!axis || *axis == written_out) continue;
    const auto [begin, end] = context.operands.indices_within(*operand, guard, *axis);
    const LoopRange range = context.range_of(inside.ranges, *axis);
    Value* later = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, range.begin, begin);
    Value* sooner = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, range.end, end);
    std::erase_if(inside.ranges, [&](const auto& known) { return known.first == *axis; });
    inside.ranges.push_back({*axis, {later, sooner}});
    inside.guards.push_back(guard);
  }
  return inside;
}

/// A block of `count` vectors of lanes: each element of a window takes an address, and a test of
/// the guards that do not bound the loops, for all of them.
void emit_block(const LoopContext& context, const LoopPass& pass, const AxisRanges& ranges,
                std::span<const LoopBody> bodies) {
  const LoopBodies code(context);
  const std::size_t count = bodies.size();
  const auto element = [&](const LoopValues& carried, Value*) {
    LoopValues accumulators = carried;
    for (std::size_t i = 0; i < count; ++i)
      accumulators = code.sweep(pass, bodies[i], i, count, accumulators, {});
    return accumulators;
  };
  const LoopValues results =
      code.over_serial_axes(pass, context.registers.serial_axes, ranges,
                            code.neutral(pass, static_cast<int>(count)), nullptr, element);
  for (std::size_t i = 0; i < count; ++i) {
    LoopBody stored = bodies[i];
    for (std::size_t r = 0; r < pass.reductions.size(); ++r)
      stored.bound.emplace_back(pass.reductions[r], results[r * count + i]);
    code.in_body(stored, [&] { code.store_all(context.passes.final_stores); });
  }
}

/// The bodies of `count` vectors of lanes from `begin` on.
std::vector<LoopBody> bodies_from(const LoopContext& context, Value* begin, int count,
                                  Value* mask) {
  std::vector<LoopBody> bodies;
  for (int i = 0; i < count; ++i) {
    Value* distance = context.number(i * context.width);
    bodies.push_back({context.builder.CreateAdd(begin, distance), mask, {}});
  }
  return bodies;
}

/// One window after the other.
void emit_single_windows(const LoopContext& context, const LoopPass& pass,
                         const InsideWindow& inside, const LoopRange& lanes) {
  const LaneRanges ranges(context);
  ranges.over(lanes, ranges.streaming(context.passes.final_stores, lanes), context.vectors(),
              [&](Value* begin, int count, Value* mask) {
                emit_block(context, pass, inside.ranges, bodies_from(context, begin, count, mask));
              });
}

/// Blocks of windows beside each other. What several of them read is loaded, and computed, once.
class WindowBlocks {
 public:
  WindowBlocks(const LoopContext& context, const LoopPass& pass, const InsideWindow& inside);

  void over(const LoopRange& windows, const LoopRange& lanes) const;

 private:
  /// The windows [first, end) of a block; end nullptr: it is whole, and guards of the line hold.
  struct Block {
    Value *first, *end;
    std::map<std::int64_t, Value*> there = {};  ///< whether a place of the bounded operand exists
  };
  /// Values that elements share, by expression and place.
  using Shared = std::map<std::pair<int, std::int64_t>, Value*>;

  void over_lanes(Block block, const LoopRange& lanes) const;
  void emit(const Block& block, std::span<const LoopBody> bodies) const;
  LoopValues add_elements(const Block& block, std::span<const LoopBody> bodies,
                          const LoopValues& carried) const;
  void store(const Block& block, std::span<const LoopBody> bodies, const LoopValues& results) const;
  BoundExprs shared_by(const Block& block, const LoopBody& lanes, int window, std::int64_t element,
                       Shared& known) const;
  void set_element(const Block& block, int window, std::int64_t element) const;
  /// Whether a window of the block exists; nullptr: it does.
  Value* exists(const Block& block, int window) const;
  LoopBody masked(const LoopBody& lanes, Value* there) const;
  /// The first window, and its element, that has a place.
  std::pair<int, std::int64_t> first_at(const WindowPlace& along, std::int64_t place) const;
  void find_guards();
  Value* inside_line(Value* first) const;
  void find_places(Block& block) const;
  bool is_bounded(const SharedExpr& shared) const;
  std::optional<LaneStreams> streaming(const Block& block, const LoopRange& lanes) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
  const LoopPass& pass_;
  const InsideWindow& inside_;
  const WindowSteps& steps_;
  const LoopBodies code_;
  const LaneRanges ranges_;
  std::vector<int> outer_axes_;  ///< of the windows' elements, without the axis that is written out
  std::vector<SharedExpr> shared_;
  /// Guards of inside_.operand that bound a line of windows and their elements, at steps of 1.
  /// Whether they hold is found once for each place, before the loops over other axes.
  std::vector<int> guards_;
};

WindowBlocks::WindowBlocks(const LoopContext& context, const LoopPass& pass,
                           const InsideWindow& inside)
    : context_(context),
      builder_(context.builder),
      pass_(pass),
      inside_(inside),
      steps_(*context.loop.windows),
      code_(context),
      ranges_(context) {
  for (const int axis : context.registers.serial_axes)
    if (axis != steps_.window) outer_axes_.push_back(axis);
  for (const int expr : pass.reductions)
    for (const SharedExpr& shared : shared_exprs(context.problem, steps_, expr))
      shared_.push_back(shared);
  find_guards();
}

void WindowBlocks::over(const LoopRange& windows, const LoopRange& lanes) const {
  CountedLoop blocks(builder_, windows.begin, windows.end, context_.number(steps_.windows),
                     "windows");
  Value* first = blocks.index();
  Value* all = builder_.CreateICmpSLE(builder_.CreateAdd(first, context_.number(steps_.windows)),
                                      windows.end);
  Value* whole = builder_.CreateAnd(all, inside_line(first));
  std::vector<int> held = inside_.guards;
  held.insert(held.end(), guards_.begin(), guards_.end());
  context_.operands.set_held(inside_.operand, held);
  Conditional inner(builder_, whole, "whole_windows");
  over_lanes({first, nullptr}, lanes);
  inner.close();
  Conditional edge(builder_, builder_.CreateNot(whole), "edge_windows");
  over_lanes({first, windows.end}, lanes);
  edge.close();
  context_.operands.set_held(inside_.operand, inside_.guards);
  blocks.close();
}

/// Whether an expression loads the operand whose guards are found before, and no other one.
bool WindowBlocks::is_bounded(const SharedExpr& shared) const {
  const std::vector<int> loaded = loaded_operands(context_.problem, shared.expr);
  return loaded == std::vector{inside_.operand};
}

/// None where the operand is also loaded otherwise, or for all lanes at once.
void WindowBlocks::find_guards() {
  const bool shares =
      std::ranges::any_of(shared_, [&](const SharedExpr& shared) { return is_bounded(shared); });
  const bool apart = std::ranges::all_of(shared_, [&](const SharedExpr& shared) {
    const std::vector<int> loaded = loaded_operands(context_.problem, shared.expr);
    return is_bounded(shared) ? context_.compiler.varies_along_lanes(shared.expr)
                              : std::ranges::find(loaded, inside_.operand) == loaded.end();
  });
  if (!shares || !apart) return;
  const auto& guards = context_.operand(inside_.operand).guards;
  for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
    const auto& terms = guards[static_cast<std::size_t>(guard)].terms;
    const bool of_elements = std::ranges::any_of(terms, [&](const graph::CoordTerm& term) {
      return term.axis == steps_.window && term.factor.constant() == 1;
    });
    const bool of_others = std::ranges::any_of(terms, [&](const graph::CoordTerm& term) {
      return term.axis != steps_.window && term.axis != steps_.axis &&
             (context_.registers.inner & axis_bit(term.axis)) != 0;
    });
    if (of_elements && !of_others) guards_.push_back(guard);
  }
}

/// Whether all elements of a whole block's windows fulfil the guards: the first window bounds them
/// from below, the last one from above.
Value* WindowBlocks::inside_line(Value* first) const {
  Value* inside = builder_.getTrue();
  for (const int guard : guards_) {
    context_.operands.set_index(steps_.axis, first);
    Value* begin = context_.operands.indices_within(inside_.operand, guard, steps_.window).begin;
    context_.operands.set_index(steps_.axis,
                                builder_.CreateAdd(first, context_.number(steps_.windows - 1)));
    Value* end = context_.operands.indices_within(inside_.operand, guard, steps_.window).end;
    inside = builder_.CreateAnd(
        inside, builder_.CreateAnd(builder_.CreateICmpSLE(begin, context_.number(0)),
                                   builder_.CreateICmpSGE(end, context_.number(steps_.elements))));
  }
  context_.operands.set_index(steps_.axis, nullptr);
  return inside;
}

std::pair<int, std::int64_t> WindowBlocks::first_at(const WindowPlace& along,
                                                    std::int64_t place) const {
  for (int window = 0;; ++window) {
    for (std::int64_t element = 0; element < steps_.elements; ++element)
      if (along.of(window, element) == place) return {window, element};
  }
}

/// A place exists where its first window does, and the guards hold.
void WindowBlocks::find_places(Block& block) const {
  for (const SharedExpr& shared : shared_) {
    if (!is_bounded(shared)) continue;
    for (int window = 0; window < steps_.windows; ++window) {
      for (std::int64_t element = 0; element < steps_.elements; ++element) {
        const auto [place, is_new] =
            block.there.try_emplace(shared.place.of(window, element), nullptr);
        if (!is_new) continue;
        Value* there = exists(block, window);
        for (const int guard : guards_) {
          context_.operands.set_index(steps_.axis,
                                      builder_.CreateAdd(block.first, context_.number(window)));
          const auto range =
              context_.operands.indices_within(inside_.operand, guard, steps_.window);
          Value* holds =
              builder_.CreateAnd(builder_.CreateICmpSLE(range.begin, context_.number(element)),
                                 builder_.CreateICmpSGT(range.end, context_.number(element)));
          there = there == nullptr ? holds : builder_.CreateAnd(there, holds);
        }
        place->second = there;
      }
    }
  }
  context_.operands.set_index(steps_.axis, nullptr);
}

/// Stores of all windows go past the caches, or none: their lines must begin at the same lanes.
std::optional<LaneStreams> WindowBlocks::streaming(const Block& block,
                                                   const LoopRange& lanes) const {
  if (block.end != nullptr) return std::nullopt;
  context_.operands.set_index(steps_.axis, block.first);
  std::optional<LaneStreams> streams = ranges_.streaming(context_.passes.final_stores, lanes);
  context_.operands.set_index(steps_.axis, nullptr);
  for (const int store : context_.passes.final_stores) {
    if (!streams || !ranges_.is_streamed(store)) continue;
    const int operand = context_.problem.stores[static_cast<std::size_t>(store)].operand;
    const int stride = context_.loop.slots.stride(operand, steps_.axis);
    if (stride == codegen::SlotTable::none) return std::nullopt;
    Value* elements = context_.operands.slot(stride);
    const auto bytes = static_cast<std::int64_t>(size_of(context_.operand(operand).dtype));
    Value* beside = builder_.CreateAnd(builder_.CreateMul(elements, context_.number(bytes)),
                                       context_.number(line_bytes - 1));
    streams->streams =
        builder_.CreateAnd(streams->streams, builder_.CreateICmpEQ(beside, context_.number(0)));
  }
  return streams;
}

void WindowBlocks::over_lanes(Block block, const LoopRange& lanes) const {
  if (block.end != nullptr) find_places(block);
  ranges_.over(lanes, streaming(block, lanes), steps_.vectors,
               [&](Value* begin, int count, Value* mask) {
                 emit(block, bodies_from(context_, begin, count, mask));
               });
}

void WindowBlocks::emit(const Block& block, std::span<const LoopBody> bodies) const {
  const int count = static_cast<int>(bodies.size()) * steps_.windows;
  const LoopValues results = code_.over_serial_axes(
      pass_, outer_axes_, inside_.ranges, code_.neutral(pass_, count), nullptr,
      [&](const LoopValues& carried, Value*) { return add_elements(block, bodies, carried); });
  store(block, bodies, results);
}

LoopValues WindowBlocks::add_elements(const Block& block, std::span<const LoopBody> bodies,
                                      const LoopValues& carried) const {
  const std::size_t count = bodies.size() * static_cast<std::size_t>(steps_.windows);
  LoopValues accumulators = carried;
  for (std::size_t lanes = 0; lanes < bodies.size(); ++lanes) {
    Shared known;
    for (std::int64_t element = 0; element < steps_.elements; ++element) {
      for (int window = 0; window < steps_.windows; ++window) {
        LoopBody body = masked(bodies[lanes], exists(block, window));
        body.bound = shared_by(block, bodies[lanes], window, element, known);
        set_element(block, window, element);
        accumulators =
            code_.sweep(pass_, body, static_cast<std::size_t>(window) * bodies.size() + lanes,
                        count, accumulators, {});
      }
    }
  }
  context_.operands.set_index(steps_.axis, nullptr);
  context_.operands.set_index(steps_.window, nullptr);
  return accumulators;
}

/// A value is computed for the first window that has it: where that does not exist, none has it.
BoundExprs WindowBlocks::shared_by(const Block& block, const LoopBody& lanes, int window,
                                   std::int64_t element, Shared& known) const {
  BoundExprs bound;
  for (const SharedExpr& shared : shared_) {
    const std::int64_t place = shared.place.of(window, element);
    Value*& value = known[{shared.expr, place}];
    if (value == nullptr) {
      const auto [first, its] = first_at(shared.place, place);
      const bool found = block.end != nullptr && is_bounded(shared);
      set_element(block, first, its);
      code_.in_body(masked(lanes, found ? block.there.at(place) : exists(block, first)),
                    [&] { value = context_.compiler.compile_natural(shared.expr); });
    }
    bound.emplace_back(shared.expr, value);
  }
  return bound;
}

/// A window that does not exist is the last one that does: masks keep lanes from memory, but what
/// all lanes share is loaded whatever they say.
void WindowBlocks::set_element(const Block& block, int window, std::int64_t element) const {
  Value* index = builder_.CreateAdd(block.first, context_.number(window));
  if (block.end != nullptr && window > 0)
    index = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index,
                                           builder_.CreateSub(block.end, context_.number(1)));
  context_.operands.set_index(steps_.axis, index);
  context_.operands.set_index(steps_.window, context_.number(element));
}

Value* WindowBlocks::exists(const Block& block, int window) const {
  if (block.end == nullptr || window == 0) return nullptr;
  return builder_.CreateICmpSLT(builder_.CreateAdd(block.first, context_.number(window)),
                                block.end);
}

LoopBody WindowBlocks::masked(const LoopBody& lanes, Value* there) const {
  if (there == nullptr) return lanes;
  Value* mask =
      lanes.mask == nullptr
          ? there
          : builder_.CreateAnd(lanes.mask, codegen::broadcast(builder_, there, context_.width));
  return {lanes.begin, mask, {}};
}

void WindowBlocks::store(const Block& block, std::span<const LoopBody> bodies,
                         const LoopValues& results) const {
  const std::size_t count = bodies.size() * static_cast<std::size_t>(steps_.windows);
  // Stores that are held back would leave their condition.
  if (block.end != nullptr) context_.operands.release_stores(nullptr);
  for (int window = 0; window < steps_.windows; ++window) {
    std::optional<Conditional> some;
    if (Value* there = exists(block, window)) some.emplace(builder_, there, "window");
    context_.operands.set_index(steps_.axis,
                                builder_.CreateAdd(block.first, context_.number(window)));
    for (std::size_t lanes = 0; lanes < bodies.size(); ++lanes) {
      LoopBody stored = bodies[lanes];
      for (std::size_t r = 0; r < pass_.reductions.size(); ++r)
        stored.bound.emplace_back(
            pass_.reductions[r],
            results[r * count + static_cast<std::size_t>(window) * bodies.size() + lanes]);
      code_.in_body(stored, [&] { code_.store_all(context_.passes.final_stores); });
    }
    if (some) some->close();
  }
  context_.operands.set_index(steps_.axis, nullptr);
}

}  // namespace

bool slides_windows(const LoopContext& context) {
  const auto& passes = context.passes.passes;
  if (context.loop.sliced || passes.size() != 1 || !reduces_window(context.problem)) return false;
  const LoopPass& pass = passes.front();
  const bool in_registers =
      static_cast<int>(pass.reductions.size()) * context.vectors() <= window_accumulators &&
      pass.stores.empty() && pass.saved.empty() && pass.loaded.empty();
  return in_registers && std::ranges::all_of(pass.reductions, [&](int expr) {
           return context.compiler.varies_along_lanes(expr);
         });
}

void emit_sliding_windows(const LoopContext& context, const LoopTicket& ticket) {
  const LoopPass& pass = context.passes.passes.front();
  context.compiler.enter(context.registers.inner, context.passes.final_roots());
  const InsideWindow inside =
      inside_window(context, pass, ticket.steps ? context.loop.windows->window : -1);
  context.operands.set_held(inside.operand, inside.guards);
  if (ticket.steps)
    WindowBlocks(context, pass, inside).over(*ticket.steps, *ticket.lanes);
  else
    emit_single_windows(context, pass, inside, *ticket.lanes);
  context.operands.set_held(0, {});
  context.compiler.leave();
}

}  // namespace dyn::cpu
