#include "targets/ptx/loop/class.hpp"

#include <fmt/format.h>

#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/loop/reach.hpp"
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
std::vector<Loop> parallel_loops(const rkernel::Problem& problem, std::int64_t tile,
                                 std::int64_t lanes) {
  std::vector<Loop> loops;
  const int lane = problem.lane_axis;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (!reduced(problem, axis) && axis != lane) loops.push_back({axis, LoopKind::Parallel, tile});
  if (!reduced(problem, lane)) loops.push_back({lane, LoopKind::Parallel, lanes});
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

/// What classes differ in, besides the tree that follows from it.
struct Variant {
  std::vector<StrideClass> lane_classes;
  int row_threads = 1, width = 1;
  int kept = 0;
  bool narrow = true;
};

rkernel::RKernel make_tree(const rkernel::Problem& problem, const Variant& variant) {
  rkernel::RKernel tree;
  tree.problem = &problem;
  tree.vector_width = variant.width;
  rkernel::Layer registers{
      .name = "registers", .loops = reduction_loops(problem, variant.width), .moves = {}};
  tree.layers.push_back(std::move(registers));
  const int row_threads = variant.row_threads;
  if (row_threads > 1) {
    rkernel::Layer row{.name = row_threads == loop_threads ? "block" : "warp",
                       .loops = reduction_loops(problem, row_threads * variant.width),
                       .moves = {}};
    row.units = row_threads;
    tree.layers.push_back(std::move(row));
  }
  const bool several = row_threads < loop_threads;
  if (several) {
    rkernel::Layer block{
        .name = "block", .loops = parallel_loops(problem, 1, variant.width), .moves = {}};
    block.units = loop_threads / row_threads;
    tree.layers.push_back(std::move(block));
  }
  tree.layers.push_back({.name = "grid",
                         .loops = parallel_loops(problem, several ? 0 : 1, several ? 0 : 1),
                         .moves = {}});
  return tree;
}

std::string name_of(const Variant& variant) {
  const int warps = variant.row_threads / warp_threads;
  std::string name =
      warps == 0 ? "points" : fmt::format("rows of {} warp{}", warps, warps == 1 ? "" : "s");
  if (!variant.narrow) name = "wide " + name;
  if (variant.width > 1) name += fmt::format(" in vectors of {}", variant.width);
  if (variant.kept > 0) name += ", kept";
  return name;
}

LoopClass make_class(const LoopProblem& loop, Variant variant) {
  LoopClass made;
  made.tree = make_tree(loop.problem, variant);
  made.name = name_of(variant);
  made.row_threads = variant.row_threads;
  made.kept = variant.kept;
  made.narrow = variant.narrow;
  made.tails = variant.width > 1 && variant.kept == 0 &&
               graph::prove_multiple(loop.lane_extent(), variant.width) != true;
  made.key = fmt::format("gpu loop, {} {}{}, {} threads {} {}", made.name, made.kept,
                         made.tails ? " with tails" : "", loop_threads,
                         codegen::class_letters(variant.lane_classes),
                         codegen::structure_key(loop.problem, loop.slots));
  made.lane_classes = std::move(variant.lane_classes);
  return made;
}

}  // namespace

LoopProblem::LoopProblem(const rkernel::Problem& source)
    : problem(codegen::with_lanes(source)), slots(problem) {
  points_slot = slots.add_strategy_slot();
  tickets_slot = slots.add_strategy_slot();
  for (const Loop& loop : parallel_loops(problem, 0, 0)) {
    DigitSlots of{.axis = loop.axis, .count = 0, .multiplier = 0, .shift = 0};
    of.count = slots.add_strategy_slot();
    of.multiplier = slots.add_strategy_slot();
    of.shift = slots.add_strategy_slot();
    digits.push_back(of);
  }
}

bool LoopProblem::lanes_reduced() const { return reduced(problem, problem.lane_axis); }

graph::Dim LoopProblem::lane_extent() const {
  return problem.axes[static_cast<std::size_t>(problem.lane_axis)].extent;
}

namespace {

/// The variants of rows whose lanes are reduced, by the threads of a row.
std::vector<int> threads_of_rows(const LoopProblem& loop) {
  if (!loop.lanes_reduced()) return {1};
  if (graph::bounds(loop.lane_extent()).high <= longest_warp_row) return {warp_threads};
  return {warp_threads, loop_threads};
}

}  // namespace

std::vector<LoopClass> loop_classes(const LoopProblem& loop) {
  std::vector<Variant> variants;
  const std::vector<int> threads = threads_of_rows(loop);
  Variant vectors;
  vectors.width = vector_width(loop, vectors.lane_classes);
  for (const int row_threads : threads) {
    vectors.row_threads = row_threads;
    if (vectors.width > 1) variants.push_back(vectors);
  }
  Variant elements{.lane_classes = proven_classes(loop.problem)};
  const bool suffice =
      vectors.width > 1 && are_always_aligned(loop, vectors.lane_classes, vectors.width);
  for (const int row_threads : threads) {
    elements.row_threads = row_threads;
    if (!suffice) variants.push_back(elements);
  }
  elements.narrow = false;
  if (!is_always_narrow(loop)) variants.push_back(elements);
  std::vector<LoopClass> classes;
  for (const Variant& variant : variants) classes.push_back(make_class(loop, variant));
  return classes;
}

bool fits(const LoopProblem& loop, const LoopClass& loop_class,
          std::span<const std::int64_t> ints) {
  if (loop_class.narrow && !is_narrow(loop, ints)) return false;
  const int width = loop_class.width();
  if (width > 1 && !are_aligned(loop, loop_class.lane_classes, width, ints)) return false;
  if (loop_class.kept == 0) return true;
  const std::int64_t length = codegen::value_of(loop.slots.extent(loop.problem.lane_axis), ints);
  return length % width == 0 &&
         length <= std::int64_t{loop_class.row_threads} * width * loop_class.kept;
}

}  // namespace dyn::ptx
