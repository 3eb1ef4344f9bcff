#include "targets/cpu/loop/kernel.hpp"

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "targets/cpu/loop/cost.hpp"
#include "targets/cpu/loop/emitter.hpp"
#include "targets/llvm/jit/listing.hpp"

namespace dyn::cpu {

using codegen::StrideClass;

LoopKernel::LoopKernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                       std::shared_ptr<const choice::Machine> machine)
    : problem_(std::make_shared<LoopProblem>(problem, isa)),
      machine_(std::move(machine)),
      classes_(loop_classes(*problem_)) {}

LoopKernel::Draft LoopKernel::draft(const rkernel::Problem& problem, const codegen::Isa& isa,
                                    std::shared_ptr<const choice::Machine> machine) {
  return Draft(std::unique_ptr<LoopKernel>(new LoopKernel(problem, isa, std::move(machine))));
}

std::vector<codegen::KernelSource> LoopKernel::sources() const {
  std::vector<codegen::KernelSource> sources;
  for (const LoopClass& loop_class : classes_)
    sources.push_back({loop_class.key, [problem = problem_, loop_class](llvm::Module& module,
                                                                        const std::string& symbol) {
                         emit_loop_kernel(module, symbol, *problem, loop_class);
                       }});
  if (!problem_->sliced) return sources;
  for (const LoopClass& loop_class : classes_)
    sources.push_back(
        {merge_prefix + loop_class.key,
         [problem = problem_, loop_class](llvm::Module& module, const std::string& symbol) {
           emit_loop_merge(module, symbol, *problem, loop_class);
         }});
  return sources;
}

std::size_t LoopKernel::class_for(std::span<const std::int64_t> ints) const {
  const int lane = problem_->problem.lane_axis;
  const std::int64_t bytes = scratch_elements(*problem_, ints) * problem_->scratch_element_bytes;
  std::size_t best = classes_.size();
  int best_specific = -1;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    int specific = 0;
    bool fits = true;
    for (std::size_t operand = 0; operand < classes_[i].lane_classes.size(); ++operand) {
      const StrideClass wanted = classes_[i].lane_classes[operand];
      if (wanted == StrideClass::Any) continue;
      const std::int64_t stride =
          codegen::value_of(problem_->slots.stride(static_cast<int>(operand), lane), ints);
      const int few = codegen::few_of(wanted);
      fits = fits && (few > 0 ? stride == few : codegen::class_of(stride) == wanted);
      ++specific;
    }
    if (!fits) continue;
    const int kept = classes_[i].scratch_values;
    specific = 3 * specific + (kept == 0 ? 1 : kept * bytes <= scratch_limit_bytes ? 2 : 0);
    if (specific > best_specific) best = i, best_specific = specific;
  }
  if (best == classes_.size())
    throw Error(ErrorKind::internal,
                fmt::format("no shape class of {} fits its strides", problem_->problem.name));
  return best;
}

rkernel::Launch LoopKernel::plan(const rkernel::PlanRequest& request) const {
  rkernel::Launch launch;
  launch.ints = problem_->slots.evaluate(request.symbols);
  const std::size_t chosen = class_for(launch.ints);
  const LoopCost cost =
      loop_cost(*problem_, classes_[chosen], launch.ints, *machine_, request.threads);
  launch.function = reinterpret_cast<rkernel::KernelFunction>(functions_.at(chosen));
  launch.tickets = cost.tickets;
  launch.grain = cost.grain;
  launch.threads = cost.threads;
  launch.predicted_seconds = cost.seconds;
  launch.bytes = cost.bytes;
  launch.ints[static_cast<std::size_t>(problem_->chunk_slot)] = cost.chunk;
  launch.ints[static_cast<std::size_t>(problem_->chunks_slot)] = cost.chunks;
  launch.ints[static_cast<std::size_t>(problem_->stream_slot)] = cost.streams ? 1 : 0;
  launch.ints[static_cast<std::size_t>(problem_->grouped_slot)] = cost.grouped ? 1 : 0;
  launch.ints[static_cast<std::size_t>(problem_->ahead_slot)] = cost.ahead;
  launch.ints[static_cast<std::size_t>(problem_->far_ahead_slot)] = cost.far_ahead;
  launch.ints[static_cast<std::size_t>(problem_->steps_chunk_slot)] = cost.steps_chunk;
  launch.ints[static_cast<std::size_t>(problem_->steps_chunks_slot)] = cost.steps_chunks;
  launch.scratch_bytes =
      static_cast<std::size_t>(scratch_bytes(*problem_, classes_[chosen], launch.ints));
  if (problem_->sliced) fill_slices(chosen, cost, launch);
  return launch;
}

void LoopKernel::fill_slices(std::size_t chosen, const LoopCost& cost,
                             rkernel::Launch& launch) const {
  const SliceSlots& slots = *problem_->sliced;
  const auto set = [&](int slot, std::int64_t value) {
    launch.ints[static_cast<std::size_t>(slot)] = value;
  };
  for (std::size_t i = 0; i < slots.axes.size(); ++i) {
    set(slots.axes[i].chunk, cost.slices.chunk[i]);
    set(slots.axes[i].chunks, cost.slices.chunks[i]);
  }
  set(slots.slices, cost.slices.count);
  set(slots.slice_elements, cost.rows * cost.partials_row);
  set(slots.row_elements, cost.partials_row);
  set(slots.merge_chunk, cost.merge_chunk);
  set(slots.merge_chunks, cost.merge_chunks);
  if (cost.slices.count == 1) return;
  launch.merge = reinterpret_cast<rkernel::KernelFunction>(functions_.at(classes_.size() + chosen));
  launch.merge_tickets = cost.rows * cost.merge_chunks;
  launch.merge_grain = cost.merge_grain;
  launch.shared_bytes =
      static_cast<std::size_t>(cost.slices.count * cost.rows * cost.partials_row *
                               classes_[chosen].reductions * problem_->scratch_element_bytes);
}

std::string LoopKernel::explain(const rkernel::PlanRequest& request) const {
  const std::vector<std::int64_t> ints = problem_->slots.evaluate(request.symbols);
  const std::size_t chosen = class_for(ints);
  return fmt::format(
      "  {}: class {} of {}\n{}", problem_->problem.name, chosen, classes_.size(),
      to_string(loop_cost(*problem_, classes_[chosen], ints, *machine_, request.threads)));
}

std::vector<rkernel::CodeListing> LoopKernel::listings_at(
    const rkernel::PlanRequest& request) const {
  return codegen::list_launched(problem_->isa, sources(), functions_, plan(request));
}

std::string LoopKernel::target_name() const { return "cpu/" + problem_->isa.name; }

std::string LoopKernel::describe() const {
  std::string text = rkernel::to_string(problem_->tree);
  for (const LoopClass& loop_class : classes_) text += "class " + loop_class.key + "\n";
  return text;
}

}  // namespace dyn::cpu
