#include "targets/ptx/loop/class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/loop/reach.hpp"
#include "targets/ptx/loop/row_reduction.hpp"
#include "targets/ptx/loop/turn.hpp"

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

/// Classes differ in these, and in the tree that follows from them.
struct Variant {
  std::vector<StrideClass> lane_classes;
  int row_threads = 1, width = 1;
  int kept = 0;
  bool narrow = true;
  Turn turn = {};
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
    for (Loop& loop : block.loops)
      if (loop.axis == variant.turn.axis) loop.tile = variant.width;
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
  if (variant.kept > 0) name = "kept " + name;
  if (variant.turn.exists())
    name += fmt::format(" in squares of {} along axis {}", variant.width, variant.turn.axis);
  else if (variant.width > 1)
    name += fmt::format(" in vectors of {}", variant.width);
  return name;
}

LoopClass make_class(const LoopProblem& loop, Variant variant) {
  LoopClass made;
  made.tree = make_tree(loop.problem, variant);
  made.name = name_of(variant);
  made.row_threads = variant.row_threads;
  made.kept = variant.kept;
  made.narrow = variant.narrow;
  made.turn = variant.turn;
  made.tails = variant.width > 1 && variant.kept == 0 && !variant.turn.exists() &&
               graph::prove_multiple(loop.lane_extent(), variant.width) != true;
  made.key = fmt::format("gpu loop, {} {}{}, {} threads {} {} {}", made.name, made.kept,
                         made.tails ? " with tails" : "", loop_threads, made.turn.threads,
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

/// Elements of its row that a thread of a warp keeps, where their values are few and their code is
/// short: registers, and instructions that are written out for each. Vectors, or single elements,
/// that do not exist have to be skipped: there are not too many.
constexpr int most_kept = 32, least_kept = 8, most_parts = 16;
constexpr double kept_values = 64, kept_instructions = 2048;

/// How many elements of its row a thread of a warp keeps; 0: no pass needs what an earlier one
/// has, or there are other reduction axes.
int elements_kept(const LoopProblem& loop, const std::vector<StrideClass>& lane_classes) {
  const bool alone = std::ranges::count_if(loop.problem.axes, [](const rkernel::Axis& axis) {
                       return axis.kind == rkernel::AxisKind::Reduction;
                     }) == 1;
  if (!loop.lanes_reduced() || !alone) return 0;
  const codegen::LoopPasses passes = passes_that_keep(loop, lane_classes);
  const auto values = static_cast<double>(passes.scratch.size());
  const double instructions =
      codegen::instructions_of(loop.problem, loop.slots, lane_classes, device_math.approximations);
  if (values == 0) return 0;
  int elements = most_kept;
  while (elements > least_kept &&
         (elements * values > kept_values || elements * instructions > kept_instructions))
    elements /= 2;
  return elements;
}

/// A problem's variants, the most special ones first.
class Variants {
 public:
  explicit Variants(const LoopProblem& loop)
      : loop_(loop), reduced_(loop.lanes_reduced()), longest_(longest_of(loop)) {
    vectors_.width = vector_width(loop, vectors_.lane_classes);
    elements_.lane_classes = proven_classes(loop.problem);
  }

  std::vector<Variant> all() {
    const bool suffice =
        vectors_.width > 1 && are_always_aligned(loop_, vectors_.lane_classes, vectors_.width);
    if (vectors_.width > 1) add(vectors_);
    if (const std::optional<TurnedLanes> lanes = turned_lanes(loop_))
      variants_.push_back(
          {.lane_classes = lanes->lane_classes, .width = lanes->width, .turn = lanes->turn});
    if (!suffice) add(elements_);
    if (is_always_narrow(loop_)) return std::move(variants_);
    elements_.narrow = false;
    elements_.row_threads = !reduced_                     ? 1
                            : longest_ > longest_warp_row ? loop_threads
                                                          : warp_threads;
    variants_.push_back(elements_);
    return std::move(variants_);
  }

 private:
  static std::int64_t longest_of(const LoopProblem& loop) {
    return graph::bounds(loop.lane_extent()).high;
  }

  /// Where values are kept, rows of a block are kept in vectors alone, and rows of a warp that are
  /// not kept are left out.
  void add(Variant variant) {
    if (!reduced_) return variants_.push_back(variant);
    const int kept = elements_kept(loop_, variant.lane_classes);
    if (kept > 0) add_kept(variant, kept);
    const bool may_be_long = longest_ > longest_warp_row;
    for (const int row_threads : {warp_threads, loop_threads}) {
      if (row_threads == warp_threads ? kept > 0 && may_be_long : !may_be_long) continue;
      variant.row_threads = row_threads;
      variants_.push_back(variant);
    }
  }

  void add_kept(Variant variant, int elements) {
    variant.row_threads = warp_threads;
    variant.kept = std::clamp(elements / variant.width, 1, most_parts);
    variants_.push_back(variant);
    if (longest_ <= longest_warp_row || variant.width == 1) return;
    variant.row_threads = loop_threads;
    variant.kept = std::max(elements / 2 / variant.width, 1);
    variants_.push_back(variant);
  }

  const LoopProblem& loop_;
  bool reduced_;
  std::int64_t longest_;  ///< the greatest extent of the lane axis
  Variant vectors_, elements_;
  std::vector<Variant> variants_;
};

}  // namespace

codegen::LoopPasses passes_that_keep(const LoopProblem& loop,
                                     std::span<const StrideClass> lane_classes) {
  // Whatever is read from memory is kept: an element's load is one instruction.
  constexpr double less_than_a_load = 0;
  return codegen::plan_passes(loop.problem, loop.slots, lane_classes, true, less_than_a_load);
}

std::vector<LoopClass> loop_classes(const LoopProblem& loop) {
  std::vector<LoopClass> classes;
  for (const Variant& variant : Variants(loop).all()) classes.push_back(make_class(loop, variant));
  return classes;
}

bool fits(const LoopProblem& loop, const LoopClass& loop_class,
          std::span<const std::int64_t> ints) {
  if (loop_class.narrow && !is_narrow(loop, ints)) return false;
  const int width = loop_class.width();
  if (width > 1 && !are_aligned(loop, loop_class.lane_classes, width, ints)) return false;
  if (loop_class.turn.exists()) return are_turned(loop, loop_class, ints);
  if (loop_class.kept == 0) return true;
  const std::int64_t length = codegen::value_of(loop.slots.extent(loop.problem.lane_axis), ints);
  return length % width == 0 &&
         length <= std::int64_t{loop_class.row_threads} * width * loop_class.kept;
}

}  // namespace dyn::ptx
