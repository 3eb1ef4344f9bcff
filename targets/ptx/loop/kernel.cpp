#include "targets/ptx/loop/kernel.hpp"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <utility>

#include "src/base/rounding.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/divider.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"
#include "targets/ptx/loop/class.hpp"
#include "targets/ptx/loop/emitter.hpp"
#include "targets/ptx/loop/row_reduction.hpp"

namespace dyn::ptx {

namespace {

bool is_supported(const rkernel::Problem& problem) {
  if (problem.contraction || problem.attention || problem.operands.empty()) return false;
  return std::ranges::all_of(problem.exprs,
                             [](const rkernel::Expr& expr) { return can_compute(expr.dtype); }) &&
         std::ranges::all_of(problem.operands, [](const rkernel::Operand& operand) {
           return can_load(operand.dtype) && operand.form == rkernel::Form::Strided;
         });
}

/// Instructions of a pass beside its arithmetic, for each vector: those of its loop, and of one
/// operand's address and access. Estimated from the generated code.
constexpr double loop_instructions = 3, address_instructions = 4;

/// Sizes of one launch, and what it costs.
struct LoopSize {
  std::int64_t points = 1;   ///< of the parallel axes
  std::int64_t reduced = 1;  ///< of the reduction axes
  std::int64_t tickets = 0, blocks = 0;
  double bytes = 0, operations = 0, seconds = 0;
};

class GpuLoopKernel final : public LoopKernel {
 public:
  GpuLoopKernel(const rkernel::Problem& problem, const choice::GpuMachine& machine,
                const std::string& target_name)
      : LoopKernel(target_name),
        loop_(std::make_shared<LoopProblem>(problem)),
        classes_(std::make_shared<std::vector<LoopClass>>(loop_classes(*loop_))),
        machine_(machine) {
    const std::vector<codegen::StrideClass>& lanes = classes_->back().lane_classes;
    const codegen::LoopPasses passes =
        codegen::plan_passes(loop_->problem, loop_->slots, lanes, false);
    for (const codegen::LoopPass& pass : passes.passes)
      reductions_ += static_cast<int>(pass.reductions.size());
    passes_ = static_cast<double>(std::max<std::size_t>(1, passes.passes.size()));
    instructions_ =
        codegen::instructions_of(loop_->problem, loop_->slots, lanes, device_math.approximations);
  }

  std::vector<codegen::KernelSource> sources() const override {
    std::vector<codegen::KernelSource> sources;
    for (std::size_t i = 0; i < classes_->size(); ++i)
      sources.push_back({(*classes_)[i].key, [loop = loop_, classes = classes_, i](
                                                 llvm::Module& module, const std::string& symbol) {
                           emit_loop_kernel(module, symbol, {{*loop, (*classes)[i]}});
                         }});
    return sources;
  }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    rkernel::Launch launch;
    launch.ints = loop_->slots.evaluate(request.symbols);
    const std::size_t chosen = class_for(launch.ints);
    const LoopClass& loop_class = (*classes_)[chosen];
    const LoopSize size = size_of_launch(loop_class, launch.ints);
    launch.grid.function = function_at(chosen);
    launch.grid.blocks = size.blocks;
    launch.grid.threads = loop_threads;
    launch.grid.shared_bytes = loop_shared_bytes(*loop_, loop_class);
    launch.tickets = size.tickets;
    launch.predicted_seconds = size.seconds;
    launch.bytes = size.bytes;
    launch.ints[static_cast<std::size_t>(loop_->points_slot)] = size.points;
    launch.ints[static_cast<std::size_t>(loop_->tickets_slot)] = size.tickets;
    set_digits(loop_class, launch.ints);
    return launch;
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = loop_->slots.evaluate(request.symbols);
    const std::size_t chosen = class_for(ints);
    const LoopSize chosen_size = size_of_launch((*classes_)[chosen], ints);
    std::string text = fmt::format(
        "  points {}, reduced {}; {:.0f} bytes; on {} multiprocessors of {}\n  times: {}\n",
        chosen_size.points, chosen_size.reduced, chosen_size.bytes, machine_.multiprocessors,
        machine_.product.empty() ? machine_.name : machine_.product,
        choice::origin_of_times(machine_));
    for (std::size_t i = 0; i < classes_->size(); ++i) {
      const LoopSize size = size_of_launch((*classes_)[i], ints);
      text += fmt::format(
          "  {} {:.4g} us: {}; {:.1f} instructions an element, {} tickets, {} blocks of {} "
          "threads\n",
          i == chosen ? "chosen" : "or", size.seconds * 1e6, (*classes_)[i].name, size.operations,
          size.tickets, size.blocks, loop_threads);
    }
    return text;
  }

  std::shared_ptr<const LoopProblem> loop() const override { return loop_; }
  std::shared_ptr<const std::vector<LoopClass>> classes() const override { return classes_; }
  std::size_t class_of(const rkernel::PlanRequest& request) const override {
    return class_for(loop_->slots.evaluate(request.symbols));
  }

  std::string describe() const override {
    std::string text;
    for (const LoopClass& loop_class : *classes_)
      text += "class " + loop_class.key + "\n" + rkernel::to_string(loop_class.tree);
    return text;
  }

 private:
  std::optional<std::size_t> class_at(const rkernel::PlanRequest& request) const override {
    return class_of(request);
  }

  std::string class_name(std::size_t index) const override {
    return loop_->problem.name + "-" + (*classes_)[index].name;
  }

  std::int64_t extent(std::span<const std::int64_t> ints, int axis) const {
    return ints[static_cast<std::size_t>(loop_->slots.extent(axis))];
  }

  /// Digits of a point along an axis: its elements, vectors of the lane axis, or the squares of
  /// neighbouring threads.
  std::int64_t digits(const LoopClass& loop_class, std::span<const std::int64_t> ints,
                      int axis) const {
    const std::int64_t length = extent(ints, axis);
    std::int64_t width = axis == loop_->problem.lane_axis ? loop_class.width() : 1;
    if (axis == loop_class.turn.axis)
      width = std::int64_t{loop_class.width()} * loop_class.turn.threads;
    return (length + width - 1) / width;
  }

  void set_digits(const LoopClass& loop_class, std::span<std::int64_t> ints) const {
    for (const DigitSlots& of : loop_->digits) {
      const std::int64_t count = digits(loop_class, ints, of.axis);
      const Divider divider = divider_of(count, loop_class.narrow ? 32 : 64);
      ints[static_cast<std::size_t>(of.count)] = count;
      ints[static_cast<std::size_t>(of.multiplier)] = static_cast<std::int64_t>(divider.multiplier);
      ints[static_cast<std::size_t>(of.shift)] = divider.shift;
    }
  }

  /// Instructions for one element. A pass has, beside arithmetic, addresses and a loop for each
  /// vector; where rows are kept, the first pass has nearly all.
  double operations(const LoopClass& loop_class, const LoopSize& size, double padded,
                    double elements) const {
    if (elements <= 0) return 0;
    const double passes = loop_class.kept > 0 ? 1 : passes_;
    const double around =
        passes *
        (loop_instructions +
         address_instructions * static_cast<double>(loop_->problem.operands.size())) /
        loop_class.width();
    const double rows = elements / static_cast<double>(std::max<std::int64_t>(size.reduced, 1));
    const double between = loop_class.row_threads > 1
                               ? choice::default_calibration().gpu_combine_instructions *
                                     reductions_ * loop_class.row_threads
                               : 0;
    return ((instructions_ * passes + around) * padded + between) * rows / elements;
  }

  /// Threads of a row whose warps have elements.
  int busy_threads(const LoopClass& loop_class, std::span<const std::int64_t> ints) const {
    const std::int64_t step = std::int64_t{warp_threads} * loop_class.width();
    const std::int64_t warps = (extent(ints, loop_->problem.lane_axis) + step - 1) / step;
    return static_cast<int>(
        std::clamp<std::int64_t>(warps * warp_threads, warp_threads, loop_class.row_threads));
  }

  LoopSize size_of_launch(const LoopClass& loop_class, std::span<const std::int64_t> ints) const {
    LoopSize size;
    double padded = 1;    // elements of a row, rounded up to whole steps of warps
    double elements = 1;  // of all rows
    for (int axis = 0; axis < static_cast<int>(loop_->problem.axes.size()); ++axis) {
      const std::int64_t length = extent(ints, axis);
      const bool reduced =
          loop_->problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction;
      if (reduced)
        size.reduced *= length;
      else
        size.points *= digits(loop_class, ints, axis);
      elements *= static_cast<double>(reduced ? std::max<std::int64_t>(length, 1) : length);
      const std::int64_t step = axis == loop_->problem.lane_axis && loop_class.row_threads > 1
                                    ? std::int64_t{warp_threads} * loop_class.width()
                                    : 1;
      if (reduced) padded *= static_cast<double>(round_up(length, step));
    }
    size.points *= loop_class.turn.threads;
    const std::int64_t rows = loop_threads / loop_class.row_threads;
    size.tickets = (size.points + rows - 1) / rows;
    const int resident = std::max(
        1, choice::occupancy(machine_, loop_threads,
                             static_cast<int>(choice::default_calibration().gpu_loop_registers),
                             loop_shared_bytes(*loop_, loop_class))
               .blocks);
    size.blocks =
        std::min<std::int64_t>(size.tickets, std::int64_t{machine_.multiprocessors} * resident *
                                                 choice::default_calibration().gpu_loop_waves);
    size.bytes = codegen::bytes_of(loop_->problem, loop_->slots, loop_class.lane_classes, ints);
    size.operations = operations(loop_class, size, padded, elements);
    // A row of several threads does not wait for others.
    const bool row = loop_class.row_threads > 1;
    size.seconds = choice::gpu_loop_cost(machine_, elements, size.bytes, size.operations,
                                         row ? size.points : size.tickets,
                                         row ? busy_threads(loop_class, ints) : loop_threads);
    return size;
  }

  /// The cheapest that fits. Where memory decides, several take as long: of these the one with
  /// fewest instructions, and then the first. The last one always fits.
  std::size_t class_for(std::span<const std::int64_t> ints) const {
    const auto cost = [&](std::size_t i) {
      const LoopSize size = size_of_launch((*classes_)[i], ints);
      return std::pair(size.seconds, size.operations);
    };
    std::size_t best = classes_->size() - 1;
    auto least = cost(best);
    for (std::size_t i = best; i-- > 0;) {
      if (!fits(*loop_, (*classes_)[i], ints)) continue;
      const auto own = cost(i);
      if (own <= least) best = i, least = own;
    }
    return best;
  }

  std::shared_ptr<const LoopProblem> loop_;
  std::shared_ptr<const std::vector<LoopClass>> classes_;
  choice::GpuMachine machine_;
  int reductions_ = 0;       ///< reductions of all passes; classes differ in threads alone
  double instructions_ = 0;  ///< of arithmetic, for one element in one pass
  double passes_ = 1;        ///< values that several passes need are computed in each pass
};

}  // namespace

std::optional<LoopKernel::Draft> LoopKernel::draft(const rkernel::Problem& problem,
                                                   const choice::GpuMachine& machine,
                                                   const std::string& target_name) {
  if (!is_supported(problem)) return std::nullopt;
  return Draft(std::make_unique<GpuLoopKernel>(problem, machine, target_name));
}

}  // namespace dyn::ptx
