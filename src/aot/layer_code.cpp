#include "src/aot/layer_code.hpp"

#include <utility>

#include "graph/passes/pipeline.hpp"
#include "graph/text/text.hpp"
#include "src/aot/layers.hpp"
#include "src/rkernel/problem/lower.hpp"
#include "targets/cpu/ahead_of_time.hpp"
#include "targets/cpu/contraction/context.hpp"
#include "targets/cpu/move/computed_factor.hpp"

namespace dyn::aot {
namespace {

// No code depends on a machine's figures; two threads have code for sums in slices.
choice::Machine any_machine(const codegen::Isa& isa) {
  choice::Machine machine;
  machine.threads = 2;
  machine.vector_width = isa.f32_lanes;
  machine.panel = isa.panel_f32;
  machine.levels = {{"L1", 32 << 10, {1}}, {"L2", 1 << 20, {1}}, {"memory", 0, {1}}};
  return machine;
}

}  // namespace

LayerCode::LayerCode(const codegen::Isa& isa) {
  const choice::Machine machine = any_machine(isa);
  const cpu::KernelContext context{
      isa, std::make_shared<const choice::Machine>(machine),
      std::make_shared<const cpu::ContractionContext>(isa, machine, cpu::ContractionLoops{}),
      std::make_shared<const cpu::AttentionChoices>()};
  for (const std::string& text : common_layers()) add(text, context, DType::f32);
  for (const rkernel::Factors& weights : cpu::usual_weights(isa)) {
    for (const std::string& text : plain_layers()) {
      if (weights != rkernel::Factors()) add(text, context, weights);
    }
  }
}

void LayerCode::add(const std::string& text, const cpu::KernelContext& context,
                    const rkernel::Factors& weights) {
  modules_.push_back(std::make_unique<graph::Module>(graph::parse(text, "a common layer")));
  graph::Module& module = *modules_.back();
  const graph::Fusion fusion =
      graph::run_pipeline(module, {.decompose = {.keep_attention = true},
                                   .fuse = {.place_parts = true,
                                            .gated_columns = context.isa.panel_f32,
                                            .prologue_columns = cpu::columns_of_prologue}});
  std::vector<rkernel::Problem> problems = rkernel::lower(module, fusion);
  const auto is_constant = [&](graph::ValueId id) {
    return module.value(id).kind == graph::ValueKind::Weight;
  };
  cpu::choose_forms(problems, is_constant, context.isa, weights);
  drafts_.push_back(std::make_unique<cpu::KernelDrafts>(problems, context));
  const auto sources = drafts_.back()->sources();
  sources_.insert(sources_.end(), sources.begin(), sources.end());
}

}  // namespace dyn::aot
