#pragma once
// A model whose run decides sizes: models that run one after the other, and nodes between them
// that the host runs and whose results give dims their values.

#include <functional>

#include "src/runtime/executables/executable.hpp"

namespace dyn::runtime {

class SegmentedExecutable final : public Executable {
 public:
  /// Loads the model of one segment of the module.
  using Load =
      std::function<std::shared_ptr<const Model>(const graph::Module&, const graph::Segment&)>;

  /// Loads what a loop runs.
  using LoadBody = std::function<std::shared_ptr<const Model>(const graph::Module& body)>;

  /// All segments share the symbols of `module`; bodies have their own. Throws what loading throws,
  /// and Error(unsupported) for a module with states.
  SegmentedExecutable(ModelInfo info, graph::Module module, const Load& load,
                      const LoadBody& load_body);

  std::string device_name() const override;
  /// A session makes no difference: there are no states.
  std::unique_ptr<Execution> make_execution(CallPorts& ports, SessionState* session) const override;

  const graph::Module& module() const override { return module_; }
  const Binder& binder() const override { return binder_; }
  const Plans& plans() const override;
  std::vector<Shape> output_shapes(std::span<const std::int64_t> symbols) const override;
  /// Nothing: segments plan when they run.
  void prepare(std::span<const std::int64_t>) const override {}
  std::span<const SegmentStep> steps() const override { return steps_; }
  void trim() const override;

 private:
  const graph::Module module_;
  const Binder binder_;
  const std::vector<SegmentStep> steps_;  ///< in an order of execution
};

}  // namespace dyn::runtime
