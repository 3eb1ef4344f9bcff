#pragma once
// scatter_elements and scatter_nd as one problem, and its kernel.

#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/ptx/function/code.hpp"

namespace dyn::ptx {

/// An axis of a scatter, with the slots of its strides; -1: 0.
struct ScatterAxis {
  graph::Dim extent;
  Digit digit;
  int data = -1, indices = -1, updates = -1, result = -1;
};

/// Data are (lines..., places..., lane), indices (lines..., rows..., lane, component), updates
/// (lines..., rows..., lane), each with strides of its own. A row of a line changes the element at
/// the place that its indices give, one component for each axis of places. Rows that change one
/// element do so in their order. Lines and lanes beyond the bounds have no rows.
struct ScatterProblem {
  explicit ScatterProblem(const rkernel::HostCall& call);

  codegen::SlotTable slots;
  FunctionPart data, indices, updates, result;  ///< without strides
  std::vector<ScatterAxis> lines, places, rows;
  std::vector<ScatterAxis> lane;  ///< one at most
  std::string reduction;
  // Slots of sizes.
  std::vector<int> line_bounds;
  int lane_bound = 0, lane_extent = 0, component_stride = -1;
  // Slots that a launch sets. A block has `groups` groups of 2^lane_shift lanes, and a ticket
  // part_places places of one chunk of so many lanes.
  int tickets = 0, place_count = 0, row_count = 0;
  int lane_shift = 0, groups = 0, part_places = 0;
  int same_lanes = 0;  ///< bits: the lanes of a warp that are lane 0 of their group
  int warp_step = 0;   ///< from a warp to the next one whose lanes are the same
  Digit chunks, parts;

 private:
  void add_elements(const rkernel::HostCall& call);
  void add_slices(const rkernel::HostCall& call);
};

inline constexpr int scatter_warps = function_threads / 32;
/// An entry of each thread and a ballot of each warp; two steps have buffers of their own.
inline constexpr int scatter_buffer_bytes = 4 * (function_threads + scatter_warps);
inline constexpr int scatter_shared_bytes = 2 * scatter_buffer_bytes;

void emit_scatter(llvm::Module& module, const std::string& symbol, const ScatterProblem& scatter);

}  // namespace dyn::ptx
