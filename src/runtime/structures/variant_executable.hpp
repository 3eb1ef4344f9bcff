#pragma once
// A model whose structure is another at some shapes: there each run has the model of its shapes.

#include "src/runtime/executables/executable.hpp"
#include "src/runtime/structures/variants.hpp"

namespace dyn::runtime {

/// Everything but runs and variant_at() is the usual model's.
class VariantExecutable final : public Executable {
 public:
  /// The usual model has a structure.
  VariantExecutable(std::shared_ptr<const Model> usual, Variants::KeyAt key_at,
                    Variants::Load load);

  std::string device_name() const override { return of_usual().device_name(); }
  std::shared_ptr<rkernel::Device> device() const override { return of_usual().device(); }
  std::unique_ptr<Execution> make_execution(CallPorts& ports, SessionState* session) const override;
  std::shared_ptr<const Model> variant_at(std::span<const Shape* const> inputs) const override {
    std::shared_ptr<const Model> variant = variants_.model_at(inputs);
    return variant ? variant : of_usual().variant_at(inputs);
  }

  const graph::Module& module() const override { return of_usual().module(); }
  const Binder& binder() const override { return of_usual().binder(); }
  const Plans& plans() const override { return of_usual().plans(); }
  std::vector<Shape> output_shapes(std::span<const std::int64_t> symbols) const override {
    return of_usual().output_shapes(symbols);
  }
  void prepare(std::span<const std::int64_t> symbols) const override {
    of_usual().prepare(symbols);
  }
  std::int64_t shapes_planned() const override { return of_usual().shapes_planned(); }
  std::span<const graph::AppendedState> states() const override { return of_usual().states(); }
  StateUse state_use(std::size_t state) const override { return of_usual().state_use(state); }
  const CompiledGroups& groups() const override { return of_usual().groups(); }
  std::span<const SegmentStep> steps() const override { return of_usual().steps(); }
  WeightBytes weight_bytes() const override { return of_usual().weight_bytes(); }
  bool release_idle_memory() const override { return of_usual().release_idle_memory(); }
  void trim() const override {
    of_usual().trim();
    variants_.forget();
  }
  std::vector<CopyInfo> copies(const Plan& plan) const override { return of_usual().copies(plan); }
  std::int64_t kernels_compiled_since_load() const override {
    return of_usual().kernels_compiled_since_load();
  }

 private:
  const Executable& of_usual() const;

  const std::shared_ptr<const Model> usual_;
  mutable Variants variants_;
};

}  // namespace dyn::runtime
