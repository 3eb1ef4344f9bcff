#pragma once
// A loaded model: the graph, its kernels and weights, and the caches that its runs share.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dyn/graph.hpp"
#include "src/runtime/executables/executable.hpp"
#include "src/runtime/load/load_request.hpp"
#include "src/runtime/load/target_factory.hpp"

namespace dyn::runtime {

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// An executable as callers see it, who name inputs and dims. Const functions may be called from
/// any number of threads at once.
class Model {
 public:
  Model(std::unique_ptr<const Executable> executable, const LoadReport& report)
      : executable_(std::move(executable)), report_(report) {}

  /// Measures what the target of device "cpu" has to know of this machine, once in a process. Its
  /// buffers are large: better before a model is in memory than while it is loaded. What is wrong
  /// with the options is left to load().
  static void measure_machine(const Options& options);
  /// The whole pipeline: parse, decompose, simplify, fuse, lower, compile, weights. Errors name the
  /// source.
  static std::shared_ptr<const Model> load(const LoadRequest& request, const Options& options);
  /// The same with a target of the caller's, for tests.
  static std::shared_ptr<const Model> load(const LoadRequest& request, const Options& options,
                                           const TargetFactory& factory);

  const Executable& executable() const noexcept { return *executable_; }

  /// Inputs without whose values the structure is not known. Empty: it is known.
  std::vector<std::string> deciding_inputs() const { return executable_->deciding_inputs(); }
  /// Throws Error(user) where there are such, as does all that asks for module, dims or plans.
  void require_structure() const { executable_->module(); }

  const Options& options() const noexcept { return executable_->info().options; }
  /// Threads of one run, the caller's included.
  int threads() const noexcept { return executable_->info().threads; }
  const LoadReport& load_report() const noexcept { return report_; }
  /// "cpu/avx2", "reference".
  std::string device_name() const { return executable_->device_name(); }

  // Ports, in the model's order.
  const std::vector<PortInfo>& inputs() const noexcept { return executable_->info().inputs; }
  const std::vector<PortInfo>& outputs() const noexcept { return executable_->info().outputs; }

  // What was made of the text. For device "reference" there are no groups, problems and kernels.
  const graph::Module& module() const { return executable_->module(); }
  /// Groups, and reasons for memory traffic.
  const graph::Fusion& fusion() const { return executable_->groups().fusion; }
  /// One for each group.
  const std::vector<rkernel::Problem>& problems() const { return executable_->groups().problems; }
  /// For target_name(), describe(), explain().
  const rkernel::Kernel& kernel(std::size_t group) const {
    return *executable_->groups().kernels.at(group);
  }
  std::string explain(std::size_t group, const Plan& plan) const;
  /// In the order of a run; none where all groups run in one place.
  std::vector<CopyInfo> copies(const Plan& plan) const { return executable_->copies(plan); }
  /// Resident weights by place, in bytes.
  std::size_t host_weight_bytes() const { return executable_->weight_bytes().host; }
  std::size_t device_weight_bytes() const { return executable_->weight_bytes().device; }

  /// Models of which this one is made, in an order of execution, where its run decides sizes; else
  /// none.
  std::vector<std::shared_ptr<const Model>> segments() const;
  /// The same with what the host runs between them.
  std::span<const SegmentStep> steps() const { return executable_->steps(); }
  /// Throws Error(user) where there are such: there is no plan before the run.
  void require_plan() const { executable_->plans(); }

  // Shapes. Values of symbols are indexed as in module().dims.
  /// Throws Error(user) where the shapes do not fit, and for a model with states; dtypes are not
  /// looked at.
  std::vector<std::int64_t> bind(const NamedShapes& inputs) const;
  /// The model that runs at these shapes where they change the structure, loaded where it is not
  /// there yet; nullptr: this one. Throws as bind() does for names, and what loading throws.
  std::shared_ptr<const Model> variant_at(const NamedShapes& inputs) const {
    return executable_->variant_at(in_model_order(inputs));
  }
  /// The values of all symbols from those of the dims by name, as dynrun's --dims gives them.
  /// Throws Error(user) for a name that is not a dim, a value out of bounds, a dim without a value
  /// (the hint stands in where there is one; a session's length without either is 0).
  std::vector<std::int64_t> bind_dims(const std::map<std::string, std::int64_t>& dims) const;
  /// The dims for which bind_dims() would have neither a value nor a hint.
  std::vector<std::string> dims_without_value(
      const std::map<std::string, std::int64_t>& dims) const;
  /// The shape of every input at these values.
  NamedShapes input_shapes(std::span<const std::int64_t> symbols) const;
  NamedShapes output_shapes(std::span<const std::int64_t> symbols) const;
  /// From the cache, or made now. With Options::policy "oracle" programs are measured by runs of
  /// the model before: throws Error(unsupported) where that cannot be (see require_measurable), and
  /// what runs throw.
  PlanPtr plan(std::span<const std::int64_t> symbols) const {
    return executable_->plans().plan(symbols);
  }
  /// Made anew and not remembered, for timing what a new shape costs. Nothing is measured, whatever
  /// the policy.
  PlanPtr plan_uncached(std::span<const std::int64_t> symbols) const {
    return executable_->plans().plan_uncached(symbols);
  }
  /// Makes what a run at these values needs and can be made before it.
  void prepare(std::span<const std::int64_t> symbols) const { executable_->prepare(symbols); }

  /// Compulsory bytes of weights at this shape: each weight once; of a gathered one at most the
  /// rows that are read.
  double weight_bytes_read(const Plan& plan) const;

  std::int64_t kernels_compiled_since_load() const {
    return executable_->kernels_compiled_since_load();
  }
  std::int64_t shapes_planned() const { return executable_->shapes_planned(); }

 private:
  /// Pointers to the shapes in the model's order. Throws Error(user) for a name that is missing,
  /// unknown or given twice.
  std::vector<const Shape*> in_model_order(const NamedShapes& shapes) const;

  std::unique_ptr<const Executable> executable_;
  LoadReport report_;
};

/// The model that runs at these shapes: this one, or a variant.
std::shared_ptr<const Model> model_at(std::shared_ptr<const Model> model,
                                      const NamedShapes& inputs);

}  // namespace dyn::runtime
