#include "targets/ptx/loop/class.hpp"

#include <fmt/format.h>

#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/loop/row_reduction.hpp"

namespace dyn::ptx {

using codegen::StrideClass;
using rkernel::Loop;
using rkernel::LoopKind;

namespace {

/// Rows that cannot be longer than this never need more than a warp.
constexpr std::int64_t longest_warp_row = 8 * warp_threads;

bool reduced(const rkernel::Problem& problem, int axis) {
  return problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction;
}

std::vector<StrideClass> proven_classes(const rkernel::Problem& problem) {
  std::vector<StrideClass> classes;
  for (const rkernel::Operand& operand : problem.operands) {
    const auto possible =
        codegen::possible_classes(operand.strides[static_cast<std::size_t>(problem.lane_axis)]);
    classes.push_back(possible.size() == 1 ? possible.front() : StrideClass::Any);
  }
  return classes;
}

/// The parallel axes, each in parallel; the lane axis last, so that neighbouring threads have
/// neighbouring elements.
std::vector<Loop> parallel_loops(const rkernel::Problem& problem, std::int64_t tile) {
  std::vector<Loop> loops;
  const int lane = problem.lane_axis;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (!reduced(problem, axis) && axis != lane) loops.push_back({axis, LoopKind::Parallel, tile});
  if (!reduced(problem, lane)) loops.push_back({lane, LoopKind::Parallel, tile});
  return loops;
}

/// The reduction axes; `lanes` elements of the lane axis in one iteration, the innermost.
std::vector<Loop> reduction_loops(const rkernel::Problem& problem, std::int64_t lanes) {
  std::vector<Loop> loops;
  const int lane = problem.lane_axis;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (reduced(problem, axis) && axis != lane)
      loops.push_back({axis, LoopKind::TemporalReduction, 1});
  if (reduced(problem, lane)) loops.push_back({lane, LoopKind::TemporalReduction, lanes});
  return loops;
}

rkernel::RKernel make_tree(const rkernel::Problem& problem, int row_threads) {
  rkernel::RKernel tree;
  tree.problem = &problem;
  rkernel::Layer registers{.name = "registers", .loops = reduction_loops(problem, 1), .moves = {}};
  tree.layers.push_back(std::move(registers));
  if (row_threads > 1) {
    rkernel::Layer row{.name = row_threads == loop_threads ? "block" : "warp",
                       .loops = reduction_loops(problem, row_threads),
                       .moves = {}};
    row.units = row_threads;
    tree.layers.push_back(std::move(row));
  }
  const bool several = row_threads < loop_threads;
  if (several) {
    rkernel::Layer block{.name = "block", .loops = parallel_loops(problem, 1), .moves = {}};
    block.units = loop_threads / row_threads;
    tree.layers.push_back(std::move(block));
  }
  tree.layers.push_back(
      {.name = "grid", .loops = parallel_loops(problem, several ? 0 : 1), .moves = {}});
  return tree;
}

LoopClass make_class(const LoopProblem& loop, int row_threads) {
  LoopClass made{.lane_classes = proven_classes(loop.problem),
                 .tree = make_tree(loop.problem, row_threads),
                 .name = {},
                 .key = {}};
  made.row_threads = row_threads;
  const int warps = row_threads / warp_threads;
  made.name =
      warps == 0 ? "points" : fmt::format("rows of {} warp{}", warps, warps == 1 ? "" : "s");
  made.key = fmt::format("gpu loop, {}, {} threads {} {}", made.name, loop_threads,
                         codegen::class_letters(made.lane_classes),
                         codegen::structure_key(loop.problem, loop.slots));
  return made;
}

}  // namespace

LoopProblem::LoopProblem(const rkernel::Problem& source)
    : problem(codegen::with_lanes(source)), slots(problem) {
  points_slot = slots.add_strategy_slot();
  tickets_slot = slots.add_strategy_slot();
}

bool LoopProblem::lanes_reduced() const { return reduced(problem, problem.lane_axis); }

std::vector<LoopClass> loop_classes(const LoopProblem& loop) {
  std::vector<LoopClass> classes;
  if (!loop.lanes_reduced()) {
    classes.push_back(make_class(loop, 1));
    return classes;
  }
  classes.push_back(make_class(loop, warp_threads));
  const graph::Dim length =
      loop.problem.axes[static_cast<std::size_t>(loop.problem.lane_axis)].extent;
  if (graph::bounds(length).high > longest_warp_row)
    classes.push_back(make_class(loop, loop_threads));
  return classes;
}

}  // namespace dyn::ptx
