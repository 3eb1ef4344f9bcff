#pragma once
// What a loaded model is to its runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/ops/state_rules.hpp"
#include "src/runtime/executables/segment_step.hpp"
#include "src/runtime/load/compile.hpp"
#include "src/runtime/load/model_info.hpp"
#include "src/runtime/plan/binder.hpp"
#include "src/runtime/plan/plans.hpp"
#include "src/runtime/plan/schedule.hpp"

namespace dyn::runtime {

class CallPorts;
class Execution;
class Model;
class SessionState;

/// A copy of a tensor between the host's memory and a device's, in every run.
struct CopyInfo {
  std::string tensor;
  bool to_device = false;
  std::string before;  ///< the group that it is made for; empty: it is an output of the model
  std::string reason;
  std::size_t bytes = 0;  ///< at the plan's shape
};

/// Resident weights by place, in bytes.
struct WeightBytes {
  std::size_t host = 0, device = 0;
};

/// There is one class for each way to run a model; loading chooses, and nothing asks afterwards.
/// Whole when its constructor returns, and immutable but for caches, which synchronise themselves:
/// const functions may be called from any number of threads at once.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const ModelInfo& info() const noexcept { return info_; }
  virtual std::string device_name() const = 0;  ///< "cpu/avx2", "reference"

  /// The device that its kernels run on; nullptr: the host, or a GPU that is only described.
  virtual std::shared_ptr<rkernel::Device> device() const { return nullptr; }

  /// One caller's runs. Everything must outlive them; `session`: nullptr where there is none.
  virtual std::unique_ptr<Execution> make_execution(CallPorts& ports,
                                                    SessionState* session) const = 0;

  /// The model that runs where inputs have these shapes and change the structure; nullptr: they do
  /// not. Throws what loading throws.
  virtual std::shared_ptr<const Model> variant_at(std::span<const Shape* const>) const {
    return nullptr;
  }

  /// Inputs without whose values the structure is not known. While there are such, module(),
  /// binder() and plans() throw Error(user).
  virtual std::vector<std::string> deciding_inputs() const { return {}; }
  virtual const graph::Module& module() const = 0;
  virtual const Binder& binder() const = 0;
  /// Throws Error(user) where sizes depend on the values of inputs: there is no plan before a run.
  virtual const Plans& plans() const = 0;
  /// Throws Error(user) where they depend on the values of inputs.
  virtual std::vector<Shape> output_shapes(std::span<const std::int64_t> symbols) const {
    return plans().output_shapes(symbols);
  }
  /// Makes whatever a run with these values of symbols needs and can be made before it.
  virtual void prepare(std::span<const std::int64_t> symbols) const { plans().plan(symbols); }
  virtual std::int64_t shapes_planned() const { return 0; }

  virtual std::span<const graph::AppendedState> states() const { return {}; }
  /// Where groups touch a state. All of them run where device() is, or on the host.
  virtual StateUse state_use([[maybe_unused]] std::size_t state) const { return {}; }
  /// Throws Error(user) where there are states: what the model computes depends on a session.
  void refuse_states() const;

  /// None where no kernels were made.
  virtual const CompiledGroups& groups() const;
  /// None where one plan covers a whole run.
  virtual std::span<const SegmentStep> steps() const { return {}; }
  virtual WeightBytes weight_bytes() const { return {}; }
  /// Gives back what runs hold that are over, on host and device. Returns whether there was any.
  virtual bool release_idle_memory() const { return false; }
  /// Gives back all that is kept for runs to come.
  virtual void trim() const {}
  /// The memory that a run takes on the host. Throws Error(user) where sizes depend on the values
  /// of inputs.
  MemoryNeeded memory_needed(std::span<const std::int64_t> symbols) const;
  /// In the order of a run; none where all groups run in one place.
  virtual std::vector<CopyInfo> copies(const Plan&) const { return {}; }
  virtual std::int64_t kernels_compiled_since_load() const { return 0; }

 protected:
  explicit Executable(ModelInfo info) : info_(std::move(info)) {}

 private:
  const ModelInfo info_;
};

}  // namespace dyn::runtime
