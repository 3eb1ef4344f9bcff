#include "targets/cpu/loop/lane_ranges.hpp"

#include <algorithm>
#include <bit>

#include "src/base/bytes.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::StrideClass;
using llvm::Value;

bool LaneRanges::is_streamed(int store) const {
  const int operand = context_.problem.stores[static_cast<std::size_t>(store)].operand;
  return context_.loop_class.lane_classes[static_cast<std::size_t>(operand)] == StrideClass::Unit &&
         context_.operand(operand).guards.empty();
}

/// The first operand decides where whole lines begin.
LaneStreams LaneRanges::first_stream(Value* address, std::int64_t bytes,
                                     const LoopRange& lanes) const {
  Value* streams =
      builder_.CreateICmpNE(context_.operands.slot(context_.loop.stream_slot), context_.number(0));
  Value* to_line = builder_.CreateAnd(builder_.CreateNeg(address), context_.number(line_bytes - 1));
  Value* head = builder_.CreateLShr(
      to_line, context_.number(std::countr_zero(static_cast<std::uint64_t>(bytes))));
  return {streams, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, head,
                                                  builder_.CreateSub(lanes.end, lanes.begin))};
}

std::optional<LaneStreams> LaneRanges::streaming(const std::vector<int>& stores,
                                                 const LoopRange& lanes) const {
  std::optional<LaneStreams> result;
  context_.operands.set_index(context_.problem.lane_axis, lanes.begin);
  for (const int store : stores) {
    if (!is_streamed(store)) continue;
    const int operand = context_.problem.stores[static_cast<std::size_t>(store)].operand;
    const auto bytes = static_cast<std::int64_t>(size_of(context_.operand(operand).dtype));
    Value* address =
        builder_.CreatePtrToInt(context_.operands.pointer(operand), builder_.getInt64Ty());
    if (!result) {
      result = first_stream(address, bytes, lanes);
      continue;
    }
    Value* at_head =
        builder_.CreateAdd(address, builder_.CreateMul(result->head, context_.number(bytes)));
    Value* beside = builder_.CreateAnd(
        at_head, context_.number(std::min(line_bytes, context_.width * bytes) - 1));
    result->streams =
        builder_.CreateAnd(result->streams, builder_.CreateICmpEQ(beside, context_.number(0)));
  }
  context_.operands.set_index(context_.problem.lane_axis, nullptr);
  if (result)
    result->head = builder_.CreateSelect(result->streams, result->head, context_.number(0));
  return result;
}

void LaneRanges::over(const LoopRange& lanes, const std::optional<LaneStreams>& streaming,
                      int count, const EmitVectors& emit) const {
  const std::int64_t block = static_cast<std::int64_t>(count) * context_.width;
  const auto number = [&](std::int64_t value) { return context_.number(value); };
  // Two rounds of one code: the lanes before the first line that is stored whole, where there are
  // any, and the others.
  std::optional<CountedLoop> rounds;
  Value *begin = lanes.begin, *end = lanes.end, *whole = nullptr;
  if (streaming) {
    Value* none = builder_.CreateICmpEQ(streaming->head, number(0));
    rounds.emplace(builder_, builder_.CreateZExt(none, builder_.getInt64Ty()), number(2), number(1),
                   "round");
    Value* is_head = builder_.CreateICmpEQ(rounds->index(), number(0));
    Value* first_line = builder_.CreateAdd(lanes.begin, streaming->head);
    begin = builder_.CreateSelect(is_head, lanes.begin, first_line);
    end = builder_.CreateSelect(is_head, first_line, lanes.end);
    whole = builder_.CreateSelect(
        is_head, begin,
        builder_.CreateAdd(begin, context_.rounded_down(builder_.CreateSub(end, begin), block)));
  } else {
    whole = builder_.CreateAdd(begin, context_.rounded_down(builder_.CreateSub(end, begin), block));
  }
  CountedLoop main(builder_, begin, whole, number(block), "lanes");
  context_.operands.hold_stores();
  emit(main.index(), count, nullptr);
  context_.operands.release_stores(streaming ? streaming->streams : nullptr);
  main.close();
  CountedLoop rest(builder_, whole, end, number(context_.width), "last_lanes");
  emit(rest.index(), 1, context_.mask_until(rest.index(), end));
  rest.close();
  if (rounds) rounds->close();
}

}  // namespace dyn::cpu
