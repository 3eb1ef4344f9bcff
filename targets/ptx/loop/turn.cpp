#include "targets/ptx/loop/turn.hpp"

#include <algorithm>

#include "targets/ptx/loop/reach.hpp"

namespace dyn::ptx {

using codegen::StrideClass;

namespace {

constexpr std::size_t sector_bytes = 32;
/// A thread keeps all of a square: the side of one of narrow elements is no longer, but for bytes,
/// of which 4 would be a small part of a sector.
constexpr int longest_side = 4, longest_side_of_bytes = 8;

bool is_turned(const rkernel::Operand& operand, int axis) {
  const auto possible = codegen::possible_classes(operand.strides[static_cast<std::size_t>(axis)]);
  return possible.size() == 1 && possible.front() == StrideClass::Unit && !operand.written &&
         operand.guards.empty() && !operand.gathers;
}

/// Along the lanes where it may lie so, but across them where it may not lie so always.
StrideClass class_in_squares(const LoopProblem& loop, const rkernel::Operand& operand, int axis) {
  const auto possible =
      codegen::possible_classes(operand.strides[static_cast<std::size_t>(loop.problem.lane_axis)]);
  return possible.size() > 1 && is_turned(operand, axis) ? StrideClass::Any
                                                         : class_in_vectors(loop.problem, operand);
}

std::optional<TurnedLanes> turned_along(const LoopProblem& loop, int axis) {
  TurnedLanes lanes;
  std::size_t widest = 0, narrowest_turned = sector_bytes;
  for (const rkernel::Operand& operand : loop.problem.operands) {
    const StrideClass along = class_in_squares(loop, operand, axis);
    lanes.lane_classes.push_back(along);
    if (along != StrideClass::Zero) widest = std::max(widest, size_of(operand.dtype));
    if (along != StrideClass::Any) continue;
    if (!is_turned(operand, axis)) return std::nullopt;
    narrowest_turned = std::min(narrowest_turned, size_of(operand.dtype));
  }
  if (narrowest_turned == sector_bytes || !may_have_lanes(loop, lanes.lane_classes))
    return std::nullopt;
  lanes.width =
      std::min(elements_of_vector(widest), widest == 1 ? longest_side_of_bytes : longest_side);
  lanes.turn = {axis, static_cast<int>(sector_bytes / narrowest_turned) / lanes.width};
  return lanes;
}

}  // namespace

std::optional<TurnedLanes> turned_lanes(const LoopProblem& loop) {
  if (loop.problem.has_reduction()) return std::nullopt;
  for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis) {
    if (axis == loop.problem.lane_axis) continue;
    if (std::optional<TurnedLanes> lanes = turned_along(loop, axis)) return lanes;
  }
  return std::nullopt;
}

bool are_turned(const LoopProblem& loop, const LoopClass& loop_class,
                std::span<const std::int64_t> ints) {
  const codegen::SlotTable& slots = loop.slots;
  const int side = loop_class.width();
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  if (value(slots.extent(loop.problem.lane_axis)) % side != 0 ||
      value(slots.extent(loop_class.turn.axis)) % (std::int64_t{side} * loop_class.turn.threads) !=
          0)
    return false;
  for (int operand = 0; operand < static_cast<int>(loop.problem.operands.size()); ++operand) {
    if (loop_class.lane_classes[static_cast<std::size_t>(operand)] != StrideClass::Any) continue;
    if (value(slots.offset(operand)) % side != 0) return false;
    for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis) {
      const bool along = axis == loop_class.turn.axis || value(slots.extent(axis)) <= 1;
      if (!along && value(slots.stride(operand, axis)) % side != 0) return false;
    }
  }
  return true;
}

}  // namespace dyn::ptx
