// Operands that lie along another axis than the lanes: square blocks are loaded as they lie and
// transposed in registers.

#include "src/base/bytes.hpp"
#include "targets/cpu/loop/bodies.hpp"
#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/lane_ranges.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/code/transpose.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using llvm::Value;

namespace {

class TransposedTiles {
 public:
  explicit TransposedTiles(const LoopContext& context)
      : context_(context), builder_(context.builder) {}

  /// Whether stores of whole tiles go past the caches; nullptr: never.
  Value* streams(Value* lane, Value* step) const;
  void emit_whole(Value* lane, Value* step, Value* streams) const;
  void emit_part(const LoopRange& lanes, const LoopRange& steps) const;

 private:
  /// Vectors of the transposed operands, as memory holds their elements.
  using OperandVectors = std::vector<std::pair<int, Value*>>;

  /// For each of `width` steps a vector along the lanes.
  LoopValues whole_columns(int operand, Value* lane, Value* step, Value* streams) const;
  /// The same where the tile is not whole: rows beyond the last lane repeat it, and nothing is read
  /// beyond the last step.
  LoopValues part_columns(int operand, const LoopRange& lanes, const LoopRange& steps) const;
  Value* pointer_at(int operand, Value* lane, Value* step) const;
  /// The steps of one lane from an address on, 0 where the mask is false or a guard keeps the lane
  /// out; mask nullptr: all.
  Value* load_row(int operand, Value* pointer, Value* lane, Value* mask) const;
  void emit_body(Value* lane, Value* step, Value* mask, const OperandVectors& vectors) const;
  /// Scratch for column `step` of the number `operand` of the transposed operands.
  Value* column_in_scratch(std::size_t operand, Value* step) const;
  llvm::Type* row_type(int operand) const {
    return codegen::lanes_of(element_type(operand), context_.width);
  }
  llvm::Type* element_type(int operand) const {
    return codegen::memory_type(builder_.getContext(), context_.operand(operand).dtype);
  }
  llvm::Align alignment(int operand) const {
    return llvm::Align(size_of(context_.operand(operand).dtype));
  }
  Value* number(std::int64_t value) const { return context_.number(value); }

  const LoopContext& context_;
  codegen::Builder& builder_;
};

Value* TransposedTiles::pointer_at(int operand, Value* lane, Value* step) const {
  codegen::Operands& operands = context_.operands;
  operands.set_index(context_.problem.lane_axis, lane);
  operands.set_index(context_.loop.transposed_axis, step);
  Value* pointer = operands.pointer(operand);
  operands.set_index(context_.problem.lane_axis, nullptr);
  operands.set_index(context_.loop.transposed_axis, nullptr);
  return pointer;
}

Value* TransposedTiles::load_row(int operand, Value* pointer, Value* lane, Value* mask) const {
  const codegen::SlotTable& slots = context_.loop.slots;
  const auto& guards = context_.operand(operand).guards;
  for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
    const int low = slots.guard_low(operand, guard), high = slots.guard_high(operand, guard);
    for (const bool first : {true, false}) {
      if ((first ? low : high) == codegen::SlotTable::none) continue;
      Value* holds = first ? builder_.CreateICmpSGE(lane, context_.operands.slot(low))
                           : builder_.CreateICmpSLT(lane, context_.operands.slot(high));
      holds = builder_.CreateVectorSplat(static_cast<unsigned>(context_.width), holds);
      mask = mask == nullptr ? holds : builder_.CreateAnd(mask, holds);
    }
  }
  if (mask == nullptr)
    return builder_.CreateAlignedLoad(row_type(operand), pointer, alignment(operand));
  return builder_.CreateMaskedLoad(row_type(operand), pointer, alignment(operand), mask,
                                   llvm::Constant::getNullValue(row_type(operand)));
}

LoopValues TransposedTiles::whole_columns(int operand, Value* lane, Value* step,
                                          Value* streams) const {
  Value* pointer = pointer_at(operand, lane, step);
  Value* stride =
      context_.operands.slot(context_.loop.slots.stride(operand, context_.problem.lane_axis));
  // Hardware follows few of so many rows. Where stores go through the caches, these have enough to
  // do.
  Value* next = builder_.CreateMul(stride, number(context_.width));
  Value* ahead = streams == nullptr ? number(0) : builder_.CreateSelect(streams, next, number(0));
  LoopValues rows;
  for (int i = 0; i < context_.width; ++i) {
    if (i > 0) pointer = builder_.CreateGEP(element_type(operand), pointer, stride);
    if (streams != nullptr)
      codegen::prefetch(builder_, builder_.CreateGEP(element_type(operand), pointer, ahead));
    rows.push_back(load_row(operand, pointer, builder_.CreateAdd(lane, number(i)), nullptr));
  }
  return codegen::transpose(builder_, rows);
}

LoopValues TransposedTiles::part_columns(int operand, const LoopRange& lanes,
                                         const LoopRange& steps) const {
  Value* pointer = pointer_at(operand, lanes.begin, steps.begin);
  Value* stride =
      context_.operands.slot(context_.loop.slots.stride(operand, context_.problem.lane_axis));
  Value* mask = context_.mask_until(steps.begin, steps.end);
  LoopValues rows;
  for (int i = 0; i < context_.width; ++i) {
    Value* lane = builder_.CreateAdd(lanes.begin, number(i));
    if (i > 0) {
      Value* distance =
          builder_.CreateSelect(builder_.CreateICmpSLT(lane, lanes.end), stride, number(0));
      pointer = builder_.CreateGEP(element_type(operand), pointer, distance);
    }
    rows.push_back(load_row(operand, pointer, lane, mask));
  }
  return codegen::transpose(builder_, rows);
}

void TransposedTiles::emit_whole(Value* lane, Value* step, Value* streams) const {
  const std::vector<int>& operands = context_.loop.transposed_operands;
  std::vector<LoopValues> columns;
  for (const int operand : operands) columns.push_back(whole_columns(operand, lane, step, streams));
  context_.operands.hold_stores();
  for (int i = 0; i < context_.width; ++i) {
    OperandVectors vectors;
    for (std::size_t t = 0; t < columns.size(); ++t)
      vectors.emplace_back(operands[t], columns[t][static_cast<std::size_t>(i)]);
    emit_body(lane, builder_.CreateAdd(step, number(i)), nullptr, vectors);
  }
  context_.operands.release_stores(streams);
}

Value* TransposedTiles::column_in_scratch(std::size_t operand, Value* step) const {
  Value* vector =
      builder_.CreateAdd(step, number(static_cast<std::int64_t>(operand) * context_.width));
  return builder_.CreateGEP(builder_.getInt64Ty(), context_.scratch,
                            builder_.CreateMul(vector, number(context_.width)));
}

/// One body for all steps, which takes its vectors from scratch.
void TransposedTiles::emit_part(const LoopRange& lanes, const LoopRange& steps) const {
  const std::vector<int>& operands = context_.loop.transposed_operands;
  for (std::size_t t = 0; t < operands.size(); ++t) {
    const LoopValues columns = part_columns(operands[t], lanes, steps);
    for (int i = 0; i < context_.width; ++i)
      builder_.CreateAlignedStore(columns[static_cast<std::size_t>(i)],
                                  column_in_scratch(t, number(i)), llvm::Align(8));
  }
  Value* count = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder_.CreateSub(steps.end, steps.begin), number(context_.width));
  Value* mask = context_.mask_until(lanes.begin, lanes.end);
  CountedLoop each(builder_, number(0), count, number(1), "edge_step");
  OperandVectors vectors;
  for (std::size_t t = 0; t < operands.size(); ++t)
    vectors.emplace_back(operands[t], builder_.CreateAlignedLoad(row_type(operands[t]),
                                                                 column_in_scratch(t, each.index()),
                                                                 llvm::Align(8)));
  emit_body(lanes.begin, builder_.CreateAdd(steps.begin, each.index()), mask, vectors);
  each.close();
}

void TransposedTiles::emit_body(Value* lane, Value* step, Value* mask,
                                const OperandVectors& vectors) const {
  const LoopBodies bodies(context_);
  const auto& exprs = context_.problem.exprs;
  context_.operands.set_index(context_.loop.transposed_axis, step);
  LoopBody body{lane, mask, {}};
  for (std::size_t expr = 0; expr < exprs.size(); ++expr)
    for (const auto& [operand, value] : vectors)
      if (exprs[expr].op == rkernel::ExprOp::Load && exprs[expr].operand == operand)
        body.bound.emplace_back(static_cast<int>(expr),
                                context_.operands.in_register(operand, value));
  bodies.in_body(body, [&] { bodies.store_all(context_.passes.final_stores); });
  context_.operands.set_index(context_.loop.transposed_axis, nullptr);
}

/// Rows of a tile are whole lines where the first one is aligned and the others are whole lines
/// further.
Value* TransposedTiles::streams(Value* lane, Value* step) const {
  const LaneRanges ranges(context_);
  codegen::Operands& operands = context_.operands;
  Value* streams = nullptr;
  for (const int store : context_.passes.final_stores) {
    if (!ranges.is_streamed(store)) continue;
    const int operand = context_.problem.stores[static_cast<std::size_t>(store)].operand;
    const auto bytes = static_cast<std::int64_t>(size_of(context_.operand(operand).dtype));
    Value* place = builder_.CreatePtrToInt(pointer_at(operand, lane, step), builder_.getInt64Ty());
    if (const int stride = context_.loop.slots.stride(operand, context_.loop.transposed_axis);
        stride != codegen::SlotTable::none)
      place = builder_.CreateOr(place, builder_.CreateMul(operands.slot(stride), number(bytes)));
    Value* aligned =
        builder_.CreateICmpEQ(builder_.CreateAnd(place, number(line_bytes - 1)), number(0));
    if (streams == nullptr)
      streams = builder_.CreateICmpNE(operands.slot(context_.loop.stream_slot), number(0));
    streams = builder_.CreateAnd(streams, aligned);
  }
  return streams;
}

/// The part of a range that whole tiles cover.
LoopRange whole_tiles(const LoopContext& context, const LoopRange& range) {
  codegen::Builder& builder = context.builder;
  Value* count = builder.CreateSub(range.end, range.begin);
  return {range.begin, builder.CreateAdd(range.begin, context.rounded_down(count, context.width))};
}

/// What is left beside whole tiles: the last steps of all lanes, then the last lanes of the other
/// steps.
void emit_edges(const LoopContext& context, const LoopRange& lanes, const LoopRange& steps,
                Value* whole_lanes, Value* whole_steps) {
  codegen::Builder& builder = context.builder;
  Value* width = context.number(context.width);
  CountedLoop edges(builder, context.number(0), context.number(2), context.number(1), "edge");
  Value* first = builder.CreateICmpEQ(edges.index(), context.number(0));
  const LoopRange rest_lanes{builder.CreateSelect(first, lanes.begin, whole_lanes), lanes.end};
  const LoopRange rest_steps{builder.CreateSelect(first, whole_steps, steps.begin),
                             builder.CreateSelect(first, steps.end, whole_steps)};
  CountedLoop edge_lanes(builder, rest_lanes.begin, rest_lanes.end, width, "edge_lanes");
  CountedLoop edge_steps(builder, rest_steps.begin, rest_steps.end, width, "edge_steps");
  TransposedTiles(context).emit_part({edge_lanes.index(), rest_lanes.end},
                                     {edge_steps.index(), rest_steps.end});
  edge_steps.close();
  edge_lanes.close();
  edges.close();
}

}  // namespace

void emit_tiles(const LoopContext& context, const LoopRange& lanes, const LoopRange& steps) {
  const TransposedTiles tiles(context);
  context.compiler.enter(context.registers.inner, context.passes.final_roots());
  const LoopRange whole_lanes = whole_tiles(context, lanes),
                  whole_steps = whole_tiles(context, steps);
  Value* streams = tiles.streams(lanes.begin, steps.begin);
  Value* width = context.number(context.width);
  CountedLoop lane(context.builder, whole_lanes.begin, whole_lanes.end, width, "lanes");
  CountedLoop step(context.builder, whole_steps.begin, whole_steps.end, width, "steps");
  tiles.emit_whole(lane.index(), step.index(), streams);
  step.close();
  lane.close();
  emit_edges(context, lanes, steps, whole_lanes.end, whole_steps.end);
  context.compiler.leave();
}

}  // namespace dyn::cpu
