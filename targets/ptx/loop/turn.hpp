#pragma once
// Which loops turn squares of their operands in registers.

#include <optional>
#include <span>
#include <vector>

#include "targets/ptx/loop/class.hpp"

namespace dyn::ptx {

struct TurnedLanes {
  Turn turn;
  int width = 1;                                   ///< elements of a square's side
  std::vector<codegen::StrideClass> lane_classes;  ///< Any: the operand is turned
};

/// nullopt: no operand lies across the lanes, or others lie neither along nor across them.
std::optional<TurnedLanes> turned_lanes(const LoopProblem& loop);

/// True where a launch with these numbers has whole squares, and aligned vectors across the lanes.
bool are_turned(const LoopProblem& loop, const LoopClass& loop_class,
                std::span<const std::int64_t> ints);

}  // namespace dyn::ptx
