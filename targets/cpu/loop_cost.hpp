#pragma once
// What a loop kernel costs, and how its work is divided.

#include <cstdint>
#include <span>
#include <string>

#include "targets/cpu/loop_class.hpp"

namespace dyn::cpu {

/// Sizes and times of one problem at one shape.
struct LoopCost {
  std::int64_t rows = 1;             ///< points of the parallel axes, without the lane axis where it is parallel
  std::int64_t lanes = 1;            ///< extent of the lane axis
  std::int64_t reduced = 1;          ///< points of the reduction axes
  double elements = 0;               ///< points of all axes
  double bytes = 0;                  ///< compulsory traffic
  double instructions = 0;           ///< vector instructions for one vector of points
  double memory_seconds = 0, compute_seconds = 0, row_seconds = 0;
  double one_thread_seconds = 0, seconds = 0;
  int threads = 1;
  std::int64_t chunk = 0, chunks = 1;  ///< of the lane axis
  std::int64_t tickets = 0, grain = 1;
};

LoopCost loop_cost(const LoopProblem& problem, const LoopClass& loop_class, std::span<const std::int64_t> ints, int threads);

std::string to_string(const LoopCost& cost);

}  // namespace dyn::cpu
