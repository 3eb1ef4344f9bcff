#include "src/runtime/load/describe.hpp"

#include <algorithm>
#include <utility>

#include "src/runtime/plan/candidates.hpp"

namespace dyn::runtime {
namespace {

const char* name_of(graph::Backbone backbone) {
  switch (backbone) {
    case graph::Backbone::Matmul: return "matmul";
    case graph::Backbone::Attention: return "attention";
    case graph::Backbone::Recurrence: return "recurrence";
    case graph::Backbone::Reduction: return "reduction";
    case graph::Backbone::Elementwise: return "elementwise";
    case graph::Backbone::Copy: return "copy";
    case graph::Backbone::Host: return "host";
  }
  return "";
}

KernelInfo kernel_info(const Model& model, std::size_t index) {
  const graph::Group& group = model.fusion().groups[index];
  KernelInfo info{group.name, name_of(group.backbone), {}, model.kernel(index).target_name()};
  for (const int node : group.nodes)
    info.operators.emplace_back(model.module().nodes[static_cast<std::size_t>(node)].op->name);
  return info;
}

void add_kernels(const Model& model, std::vector<KernelInfo>& kernels) {
  if (model.steps().empty()) {
    for (std::size_t i = 0; i < model.problems().size(); ++i)
      kernels.push_back(kernel_info(model, i));
    return;
  }
  for (const SegmentStep& step : model.steps()) {
    if (step.model) add_kernels(*step.model, kernels);
    if (step.body) add_kernels(*step.body, kernels);
  }
}

}  // namespace

std::vector<DimInfo> dims_of_ports(std::span<const PortInfo> ports) {
  std::vector<DimInfo> dims;
  for (const PortInfo& port : ports) {
    for (const DimInfo& dim : port.dims) {
      if (dim.kind == DimInfo::Kind::named && !dim.text.starts_with('_') &&
          std::ranges::find(dims, dim.text, &DimInfo::text) == dims.end())
        dims.push_back(dim);
    }
  }
  return dims;
}

std::vector<KernelInfo> kernels_of(const Model& model) {
  model.require_structure();
  std::vector<KernelInfo> kernels;
  add_kernels(model, kernels);
  return kernels;
}

std::vector<KernelChoice> kernels_at(const Model& model, std::span<const std::int64_t> symbols) {
  model.require_plan();
  const rkernel::Policy policy =
      rkernel::policy_named(model.options().policy).value_or(rkernel::Policy::Dyn);
  std::vector<KernelChoice> choices;
  if (model.problems().empty()) return choices;
  const PlanPtr plan = model.plan(symbols);
  for (std::size_t i = 0; i < model.problems().size(); ++i) {
    const rkernel::Launch& launch = plan->launches[i];
    KernelChoice& choice =
        choices.emplace_back(KernelChoice{.kernel = kernel_info(model, i),
                                          .candidates = 0,
                                          .program = {},
                                          .threads = launch.threads,
                                          .predicted_seconds = launch.predicted_seconds,
                                          .flops = launch.flops,
                                          .bytes = launch.bytes});
    const rkernel::Choices all =
        choices_of_run(model.kernel(i), {plan->symbols, model.threads()}, policy);
    choice.candidates = all.candidates.size();
    choice.program = program_of(all, launch);
  }
  return choices;
}

}  // namespace dyn::runtime
