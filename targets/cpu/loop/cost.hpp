#pragma once
// What a loop kernel costs, and how its work is divided.

#include <cstdint>
#include <span>
#include <string>

#include "src/choice/cost/cost.hpp"
#include "targets/cpu/loop/slices.hpp"

namespace dyn::cpu {

/// Sizes and times of one problem at one shape.
struct LoopCost {
  std::int64_t rows = 1;   ///< points of the parallel axes, without LoopProblem::steps_axis(), and
                           ///< the lane axis where it is parallel
  std::int64_t lanes = 1;  ///< extent of the lane axis
  std::int64_t reduced = 1;   ///< points of the reduction axes
  std::int64_t steps = 1;     ///< extent of LoopProblem::steps_axis()
  std::int64_t between = 1;   ///< extent of LoopProblem::axis_between
  double elements = 0;        ///< points of all axes
  double bytes = 0;           ///< compulsory traffic
  double written = 0;         ///< bytes of it that are stored
  bool streams = false;       ///< stores go past the caches
  double instructions = 0;    ///< vector instructions for one vector of points
  double vector_seconds = 0;  ///< layer 0: computing one vector of points
  choice::LayerTerms lane_terms, thread_terms;
  double lane_seconds = 0;  ///< cost of the lanes' layer: one ticket
  double seconds = 0;
  int threads = 1;
  std::int64_t chunk = 0, chunks = 1;              ///< of the lane axis
  std::int64_t steps_chunk = 0, steps_chunks = 1;  ///< of the steps
  std::int64_t tickets = 0, grain = 1;
  LoopSlices slices;  ///< of the reduction axes
  std::int64_t partials_row =
      1;  ///< partial results of one reduction for each of the rows, in one slice
  std::int64_t merge_chunk = 0, merge_chunks = 1, merge_grain = 1;  ///< of the second stage
  double merge_seconds = 0;
  bool grouped = false;  ///< several rows of a reduction are added at once
  std::int64_t ahead =
      1;  ///< rows between the one that is read and the one that is asked for, in the first cache
  std::int64_t far_ahead = 0;  ///< the same in the second one; one of the two is 0
};

/// The cheapest division of the work over 1 or `threads` threads, by rkernel::layer_cost.
LoopCost loop_cost(const LoopProblem& problem, const LoopClass& loop_class,
                   std::span<const std::int64_t> ints, const choice::Machine& machine, int threads);

std::string to_string(const LoopCost& cost);

}  // namespace dyn::cpu
