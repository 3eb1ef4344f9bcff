#include "targets/ptx/bundle/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "src/rkernel/problem/parts.hpp"
#include "targets/ptx/loop/emitter.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "targets/ptx/programs/typical_sizes.hpp"

namespace dyn::ptx {
namespace {

using Parts = std::vector<std::unique_ptr<LoopKernel>>;
/// The class of each part, by its number.
using Classes = std::vector<std::size_t>;

codegen::KernelSource source_of_parts(const Parts& parts, const Classes& classes,
                                      const std::string& problem) {
  std::string key = "together";
  std::vector<std::shared_ptr<const LoopProblem>> loops;
  std::vector<std::shared_ptr<const std::vector<LoopClass>>> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    loops.push_back(parts[i]->loop());
    all.push_back(parts[i]->classes());
    key += " [" + (*all.back())[classes[i]].key + "]";
  }
  const auto emit = [loops, all, classes](llvm::Module& module, const std::string& symbol) {
    std::vector<LoopPart> own;
    for (std::size_t i = 0; i < loops.size(); ++i)
      own.push_back({*loops[i], (*all[i])[classes[i]]});
    emit_loop_kernel(module, symbol, own);
  };
  return {std::move(key), emit, problem};
}

class GpuBundleKernel final : public BundleKernel {
 public:
  GpuBundleKernel(std::string name, Parts parts, const choice::GpuMachine& machine,
                  const std::string& target_name, CodeOnDemand code)
      : BundleKernel(target_name),
        name_(std::move(name)),
        parts_(std::move(parts)),
        machine_(machine),
        code_(std::move(code)) {}

  /// What plans have needed so far.
  std::vector<codegen::KernelSource> sources() const override {
    const std::lock_guard lock(mutex_);
    std::vector<codegen::KernelSource> sources;
    for (const Made& made : made_) sources.push_back(source_of_parts(parts_, made.classes, name_));
    return sources;
  }

  std::size_t part_classes() const override {
    std::size_t count = 0;
    for (const auto& part : parts_) count += part->classes()->size();
    return count;
  }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    std::vector<rkernel::Launch> launches;
    for (const auto& part : parts_) launches.push_back(part->plan(request));
    rkernel::Launch all;
    for (const rkernel::Launch& launch : launches) {
      all.ints.push_back(all.grid.blocks);
      all.grid.blocks += launch.tickets > 0 ? launch.grid.blocks : 0;
      all.grid.threads = launch.grid.threads;
      all.grid.shared_bytes = std::max(all.grid.shared_bytes, launch.grid.shared_bytes);
      all.tickets += launch.tickets;
      all.bytes += launch.bytes;
    }
    all.ints.push_back(all.grid.blocks);
    for (const rkernel::Launch& launch : launches)
      all.ints.insert(all.ints.end(), launch.ints.begin(), launch.ints.end());
    all.grid.function = made_for(classes_at(request)).function;
    all.predicted_seconds = seconds_of(launches, all);
    return all;
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const rkernel::Launch all = plan(request);
    std::string text = fmt::format("  {:.4g} us: {} parts on {} blocks\n",
                                   all.predicted_seconds * 1e6, parts_.size(), all.grid.blocks);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      text += fmt::format("  part {}, from block {}, alone:\n{}", i, all.ints[i],
                          parts_[i]->explain(request));
    return text;
  }

  std::string describe() const override {
    std::string text;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      text += fmt::format("part {}\n{}", i, parts_[i]->describe());
    return text;
  }

 private:
  struct Made {
    Classes classes;
    const void* function;
  };

  Classes classes_at(const rkernel::PlanRequest& request) const {
    Classes classes;
    for (const auto& part : parts_) classes.push_back(part->class_of(request));
    return classes;
  }

  /// References stay.
  const Made& made_for(const Classes& classes) const {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(made_, classes, &Made::classes);
    if (known != made_.end()) return *known;
    const void* const function = code_ ? code_(source_of_parts(parts_, classes, name_)) : nullptr;
    return made_.emplace_back(classes, function);
  }

  std::optional<std::size_t> class_at(const rkernel::PlanRequest& request) const override {
    const Made& made = made_for(classes_at(request));
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::find(made_, made.classes, &Made::classes) -
                                    made_.begin());
  }

  std::string class_name(std::size_t index) const override {
    return fmt::format("{}-{}", name_, index);
  }

  // Parts whose blocks all fit share the memory's bandwidth alone, others wait for each other.
  double seconds_of(const std::vector<rkernel::Launch>& launches,
                    const rkernel::Launch& all) const {
    const double launch = machine_.launch_seconds;
    double longest = 0, sum = 0;
    for (const rkernel::Launch& part : launches) {
      longest = std::max(longest, part.predicted_seconds - launch);
      sum += std::max(0.0, part.predicted_seconds - launch - machine_.memory_latency_seconds);
    }
    const double shared =
        machine_.memory_latency_seconds + (all.grid.blocks <= machine_.multiprocessors
                                               ? all.bytes / machine_.memory_bytes_per_second
                                               : sum);
    return launch + std::max(longest, shared);
  }

  const std::string name_;
  const Parts parts_;
  const choice::GpuMachine machine_;
  const CodeOnDemand code_;
  mutable std::mutex mutex_;
  mutable std::deque<Made> made_;
};

}  // namespace

std::optional<BundleKernel::Draft> BundleKernel::draft(const rkernel::Problem& problem,
                                                       const choice::GpuMachine& machine,
                                                       const std::string& target_name,
                                                       CodeOnDemand code) {
  Parts parts;
  for (std::size_t i = 0; i < problem.parts.size(); ++i) {
    auto part = LoopKernel::draft(rkernel::part_of(problem, i), machine, target_name);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part).without_code());
  }
  return Draft(std::make_unique<GpuBundleKernel>(problem.name, std::move(parts), machine,
                                                 target_name, std::move(code)));
}

bool is_worth_bundling(const rkernel::Problem& problem, const choice::GpuMachine& machine) {
  if (problem.contraction || problem.attention || problem.recurrence || problem.host) return false;
  auto draft = LoopKernel::draft(problem, machine, "");
  if (!draft) return false;
  const auto kernel = std::move(*draft).without_code();
  const graph::DimTable& dims = problem.axes.front().extent.table();
  try {
    const std::vector<std::int64_t> symbols = typical_symbols(dims, small_size);
    return kernel->plan({symbols, 1}).predicted_seconds < 2 * machine.launch_seconds;
  } catch (const Error&) { return false; }  // no such size: an expression overflows
}

}  // namespace dyn::ptx
