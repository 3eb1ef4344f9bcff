#pragma once
// A loaded model: the graph, its kernels and weights, and the caches that its runs share.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyn/graph.hpp"
#include "graph/fusion/group.hpp"
#include "graph/ir/module.hpp"
#include "graph/passes/segments.hpp"
#include "src/base/dump.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/runtime/plan/plan.hpp"

namespace dyn::runtime {

class RunPool;
class Structures;
class SessionState;

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// Where a model comes from. With `files` set, weight files are looked up there by the name that
/// the text uses and nothing is read from the file system.
struct LoadRequest {
  std::string text;
  std::string source_name = "<text>";
  std::string weight_directory = ".";
  const std::map<std::string, std::string_view>* files = nullptr;
  /// Values of inputs that the text holds for: a run with others is refused.
  std::map<std::string, Tensor> decided;
  const graph::Segment* segment =
      nullptr;  ///< this part of it alone; dims get their values from the whole
};

/// Makes the target that Options ask for; `dump`: what it writes of its code.
using TargetFactory =
    std::function<std::shared_ptr<rkernel::Target>(const Options&, int threads, const Dump& dump)>;

/// A copy of a tensor between the host's memory and a device's, in every run.
struct CopyInfo {
  std::string tensor;
  bool to_device = false;
  std::string before;  ///< the group that it is made for; empty: it is an output of the model
  std::string reason;
  std::size_t bytes = 0;  ///< at the plan's shape
};

/// Const functions may be called from any number of threads at once.
class Model {
 public:
  /// The whole pipeline: parse, decompose, simplify, fuse, lower, compile, weights. Errors name the
  /// source.
  static std::shared_ptr<const Model> load(const LoadRequest& request, const Options& options);
  /// The same with a target of the caller's, for tests.
  static std::shared_ptr<const Model> load(const LoadRequest& request, const Options& options,
                                           const TargetFactory& factory);
  /// A model whose structure the values of some inputs decide: each run has the model of its
  /// values.
  static std::shared_ptr<const Model> undecided(std::vector<PortInfo> inputs,
                                                std::vector<PortInfo> outputs,
                                                const Options& options, Structures structures);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Inputs without whose values the structure is not known: nothing but the ports and run() of a
  /// CallState may be used then. Empty: it is known.
  std::vector<std::string> deciding_inputs() const;
  /// Throws Error(user) where there are such.
  void require_structure() const;

  const Options& options() const noexcept;
  int threads() const noexcept;  ///< of one run, the caller's included
  const LoadReport& load_report() const noexcept;
  std::string device_name() const;  ///< "cpu/avx2", "reference"

  // Ports, in the model's order.
  const std::vector<PortInfo>& inputs() const noexcept;
  const std::vector<PortInfo>& outputs() const noexcept;

  // What was made of the text. For device "reference" there are no groups, problems and kernels.
  const graph::Module& module() const noexcept;
  const graph::Fusion& fusion() const noexcept;  ///< groups, and reasons for memory traffic
  const std::vector<rkernel::Problem>& problems() const noexcept;  ///< one for each group
  const rkernel::Kernel& kernel(std::size_t group) const;  ///< target_name(), describe(), explain()
  std::string explain(std::size_t group, const Plan& plan) const;
  /// In the order of a run; none where all groups run in one place.
  std::vector<CopyInfo> copies(const Plan& plan) const;
  /// Resident weights by place, in bytes.
  std::size_t host_weight_bytes() const noexcept;
  std::size_t device_weight_bytes() const noexcept;

  /// Models of which this one is made, in an order of execution, where its run decides sizes; else
  /// none.
  std::vector<std::shared_ptr<const Model>> segments() const;
  /// Throws Error(user) where there are such: there is no plan before the run.
  void require_plan() const;

  // Shapes. Values of symbols are indexed as in module().dims.
  /// Throws Error(user) where the shapes do not fit, and for a model with states; dtypes are not
  /// looked at.
  std::vector<std::int64_t> bind(const NamedShapes& inputs) const;
  /// Throws Error(user) where the model has states: what it computes depends on a session.
  void refuse_states() const;
  /// The values of all symbols from those of the dims by name, as dynrun's --dims gives them.
  /// Throws Error(user) for a name that is not a dim, a value out of bounds, a dim without a value
  /// (the hint stands in where there is one; a session's length without either is 0).
  std::vector<std::int64_t> bind_dims(const std::map<std::string, std::int64_t>& dims) const;
  /// The shape of every input at these values.
  NamedShapes input_shapes(std::span<const std::int64_t> symbols) const;
  NamedShapes output_shapes(std::span<const std::int64_t> symbols) const;
  /// From the cache, or made now. With Options::policy "oracle" programs are measured by runs of
  /// the model before: throws Error(unsupported) where that cannot be (see require_measurable), and
  /// what runs throw.
  PlanPtr plan(std::span<const std::int64_t> symbols) const;
  /// Made anew and not remembered, for timing what a new shape costs. Nothing is measured, whatever
  /// the policy.
  PlanPtr plan_uncached(std::span<const std::int64_t> symbols) const;

  /// Compulsory bytes of weights at this shape: each weight once; of a gathered one at most the
  /// rows that are read.
  double weight_bytes_read(const Plan& plan) const;

  std::int64_t kernels_compiled_since_load() const;
  std::int64_t shapes_planned() const;

  /// `dump`: as the environment says where there is none.
  static std::shared_ptr<const Model> load(const LoadRequest& request, const Options& options,
                                           const TargetFactory& factory,
                                           const std::optional<Dump>& dump);
  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Seconds spent in each group by the runs that were given this profile, in order of execution.
struct RunProfile {
  std::vector<double> group_seconds;
  std::int64_t runs = 0;
};

/// What a dyn::Call holds, for callers inside dyn that need a profile.
class CallState {
 public:
  explicit CallState(std::shared_ptr<const Model> model);
  explicit CallState(std::shared_ptr<SessionState> session);
  ~CallState();

  void set_input(std::size_t index, Tensor tensor);
  void set_output(std::size_t index, Tensor tensor);
  std::size_t input_index(std::string_view name) const;  ///< throws Error(user) where there is none
  std::size_t output_index(std::string_view name) const;

  /// Of a segment's model: the values of all symbols, for the next run.
  void give_symbols(std::vector<std::int64_t> symbols);
  void run(RunProfile* profile = nullptr);
  /// Runs by this plan of the model's, for as long as shapes are those that it was made for; all
  /// inputs are set. Asks the model for no plan. Throws Error(user) where it was made for other
  /// shapes.
  void use_plan(PlanPtr plan);
  const Tensor& output(std::size_t index) const;
  const Plan& plan() const;  ///< of the last run

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dyn::runtime
