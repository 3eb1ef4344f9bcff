// Operands that lie along another axis than the lanes: square blocks are loaded as they lie and
// transposed in registers.

#include "src/base/bytes.hpp"
#include "targets/cpu/loop/code.hpp"
#include "targets/llvm/code/transpose.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using llvm::Value;

void LoopCode::emit_tiles() {
  compiler_->enter(inner_, passes_.final_roots());
  Value* whole_lanes = builder_.CreateAdd(
      lanes_.begin, rounded_down(builder_.CreateSub(lanes_.end, lanes_.begin), width_));
  Value* whole_steps = builder_.CreateAdd(
      steps_.begin, rounded_down(builder_.CreateSub(steps_.end, steps_.begin), width_));
  Value* streams = tile_streams();
  CountedLoop lanes(builder_, lanes_.begin, whole_lanes, number(width_), "lanes");
  CountedLoop steps(builder_, steps_.begin, whole_steps, number(width_), "steps");
  emit_whole_tile(lanes.index(), steps.index(), streams);
  steps.close();
  lanes.close();
  // What is left is the last steps of all lanes, then the last lanes of the other steps.
  CountedLoop edges(builder_, number(0), number(2), number(1), "edge");
  Value* first = builder_.CreateICmpEQ(edges.index(), number(0));
  const Part rest_lanes{builder_.CreateSelect(first, lanes_.begin, whole_lanes), lanes_.end};
  const Part rest_steps{builder_.CreateSelect(first, whole_steps, steps_.begin),
                        builder_.CreateSelect(first, steps_.end, whole_steps)};
  CountedLoop edge_lanes(builder_, rest_lanes.begin, rest_lanes.end, number(width_), "edge_lanes");
  CountedLoop edge_steps(builder_, rest_steps.begin, rest_steps.end, number(width_), "edge_steps");
  emit_part_of_tile({edge_lanes.index(), rest_lanes.end}, {edge_steps.index(), rest_steps.end});
  edge_steps.close();
  edge_lanes.close();
  edges.close();
  compiler_->leave();
}

/// For each of `width` steps a vector along the lanes, as memory holds its elements. Where the tile
/// is not whole, rows beyond the last lane repeat it, and nothing is read beyond the last step.
LoopCode::Values LoopCode::turned_columns(int operand, const Part& lanes, const Part& steps,
                                          bool whole, Value* streams) {
  const rkernel::Operand& source = problem_.operands[static_cast<std::size_t>(operand)];
  llvm::Type* element = codegen::memory_type(builder_.getContext(), source.dtype);
  llvm::Type* row = codegen::lanes_of(element, width_);
  const llvm::Align align(size_of(source.dtype));
  operands_->set_index(problem_.lane_axis, lanes.begin);
  operands_->set_index(loop_.turned_axis, steps.begin);
  Value* pointer = operands_->pointer(operand);
  Value* stride = operands_->slot(loop_.slots.stride(operand, problem_.lane_axis));
  Value* mask = whole ? nullptr : mask_until(steps.begin, steps.end);
  // Hardware follows few of so many rows. Where stores go through the caches, these have enough to
  // do.
  Value* next = builder_.CreateMul(stride, number(width_));
  Value* ahead = streams == nullptr ? number(0) : builder_.CreateSelect(streams, next, number(0));
  Values rows;
  for (int i = 0; i < width_; ++i) {
    if (i > 0) {
      Value* distance =
          whole ? stride
                : builder_.CreateSelect(
                      builder_.CreateICmpSLT(builder_.CreateAdd(lanes.begin, number(i)), lanes.end),
                      stride, number(0));
      pointer = builder_.CreateGEP(element, pointer, distance);
    }
    if (streams != nullptr)
      codegen::prefetch(builder_, builder_.CreateGEP(element, pointer, ahead));
    rows.push_back(whole ? static_cast<Value*>(builder_.CreateAlignedLoad(row, pointer, align))
                         : builder_.CreateMaskedLoad(row, pointer, align, mask,
                                                     llvm::Constant::getNullValue(row)));
  }
  operands_->set_index(problem_.lane_axis, nullptr);
  operands_->set_index(loop_.turned_axis, nullptr);
  return codegen::transpose(builder_, rows);
}

void LoopCode::emit_whole_tile(Value* lane, Value* step, Value* streams) {
  std::vector<Values> columns;
  for (const int operand : loop_.turned_operands)
    columns.push_back(turned_columns(operand, {lane, nullptr}, {step, nullptr}, true, streams));
  operands_->hold_stores();
  for (int i = 0; i < width_; ++i) {
    std::vector<std::pair<int, Value*>> turned;
    for (std::size_t t = 0; t < columns.size(); ++t)
      turned.emplace_back(loop_.turned_operands[t], columns[t][static_cast<std::size_t>(i)]);
    emit_tile_body(lane, builder_.CreateAdd(step, number(i)), nullptr, turned);
  }
  operands_->release_stores(streams);
}

void LoopCode::emit_part_of_tile(const Part& lanes, const Part& steps) {
  // One body for all steps, which takes its vectors from scratch.
  const auto place = [&](std::size_t operand, Value* step) {
    Value* vector = builder_.CreateAdd(step, number(static_cast<std::int64_t>(operand) * width_));
    return builder_.CreateGEP(builder_.getInt64Ty(), function_->getArg(3),
                              builder_.CreateMul(vector, number(width_)));
  };
  std::vector<llvm::Type*> types;
  for (std::size_t t = 0; t < loop_.turned_operands.size(); ++t) {
    const Values columns = turned_columns(loop_.turned_operands[t], lanes, steps, false, nullptr);
    types.push_back(columns.front()->getType());
    for (int i = 0; i < width_; ++i)
      builder_.CreateAlignedStore(columns[static_cast<std::size_t>(i)], place(t, number(i)),
                                  llvm::Align(8));
  }
  Value* count = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder_.CreateSub(steps.end, steps.begin), number(width_));
  Value* mask = mask_until(lanes.begin, lanes.end);
  CountedLoop each(builder_, number(0), count, number(1), "edge_step");
  std::vector<std::pair<int, Value*>> turned;
  for (std::size_t t = 0; t < types.size(); ++t)
    turned.emplace_back(
        loop_.turned_operands[t],
        builder_.CreateAlignedLoad(types[t], place(t, each.index()), llvm::Align(8)));
  emit_tile_body(lanes.begin, builder_.CreateAdd(steps.begin, each.index()), mask, turned);
  each.close();
}

void LoopCode::emit_tile_body(Value* lane, Value* step, Value* mask,
                              const std::vector<std::pair<int, Value*>>& turned) {
  operands_->set_index(loop_.turned_axis, step);
  Body body{lane, mask, {}};
  for (std::size_t expr = 0; expr < problem_.exprs.size(); ++expr)
    for (const auto& [operand, value] : turned)
      if (problem_.exprs[expr].op == rkernel::ExprOp::Load &&
          problem_.exprs[expr].operand == operand)
        body.bound.emplace_back(static_cast<int>(expr), operands_->in_register(operand, value));
  in_body(body, [&] { store_all(passes_.final_stores); });
  operands_->set_index(loop_.turned_axis, nullptr);
}

/// Rows of a tile are whole lines where the first one is aligned and the others are whole lines
/// further.
Value* LoopCode::tile_streams() {
  Value* streams = nullptr;
  operands_->set_index(problem_.lane_axis, lanes_.begin);
  operands_->set_index(loop_.turned_axis, steps_.begin);
  for (const int store : passes_.final_stores) {
    if (!is_streamed(store)) continue;
    const int operand = problem_.stores[static_cast<std::size_t>(store)].operand;
    const auto bytes = static_cast<std::int64_t>(
        size_of(problem_.operands[static_cast<std::size_t>(operand)].dtype));
    Value* place = builder_.CreatePtrToInt(operands_->pointer(operand), builder_.getInt64Ty());
    if (const int stride = loop_.slots.stride(operand, loop_.turned_axis);
        stride != codegen::SlotTable::none)
      place = builder_.CreateOr(place, builder_.CreateMul(operands_->slot(stride), number(bytes)));
    Value* aligned =
        builder_.CreateICmpEQ(builder_.CreateAnd(place, number(line_bytes - 1)), number(0));
    if (streams == nullptr)
      streams = builder_.CreateICmpNE(operands_->slot(loop_.stream_slot), number(0));
    streams = builder_.CreateAnd(streams, aligned);
  }
  operands_->set_index(problem_.lane_axis, nullptr);
  operands_->set_index(loop_.turned_axis, nullptr);
  return streams;
}

}  // namespace dyn::cpu
