#include "src/runtime/executables/segmented_executable.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "src/runtime/executables/segmented_execution.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

std::shared_ptr<const Model> body_of(const graph::Module& module, const graph::Segment& segment,
                                     const SegmentedExecutable::LoadBody& load) {
  const graph::Node& node = module.nodes[static_cast<std::size_t>(segment.nodes.front())];
  if (node.op->id != graph::OpId::Loop) return nullptr;
  return load(*graph::find_body(module, graph::attr_word(node, "body")));
}

std::vector<SegmentStep> load_steps(const graph::Module& module,
                                    const SegmentedExecutable::Load& load,
                                    const SegmentedExecutable::LoadBody& load_body) {
  std::vector<SegmentStep> steps;
  for (graph::Segment& segment : graph::cut(module)) {
    std::shared_ptr<const Model> model, body;
    if (segment.defines)
      body = body_of(module, segment, load_body);
    else
      model = load(module, segment);
    steps.push_back({std::move(segment), std::move(model), std::move(body), {}});
  }
  std::set<graph::ValueId> read(module.outputs.begin(), module.outputs.end());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    for (const std::vector<graph::ValueId>* ids : {&step->segment.inputs, &step->segment.outputs}) {
      for (const graph::ValueId id : *ids) {
        if (read.insert(id).second) step->last.push_back(id);
      }
    }
  }
  return steps;
}

}  // namespace

SegmentedExecutable::SegmentedExecutable(ModelInfo info, graph::Module module, const Load& load,
                                         const LoadBody& load_body)
    : Executable(std::move(info)),
      module_(std::move(module)),
      binder_(module_),
      steps_(load_steps(module_, load, load_body)) {}

std::string SegmentedExecutable::device_name() const {
  for (const SegmentStep& step : steps_)
    if (const std::shared_ptr<const Model>& model = step.model ? step.model : step.body)
      return model->device_name();
  return info().options.device;
}

const Plans& SegmentedExecutable::plans() const {
  user_error(
      fmt::format("sizes in the model '{}' depend on the values of its "
                  "inputs; they are known when it has run, and not before",
                  module_.name));
}

std::vector<Shape> SegmentedExecutable::output_shapes(std::span<const std::int64_t> symbols) const {
  std::vector<Shape> shapes;
  for (const graph::ValueId id : module_.outputs) {
    Shape& shape = shapes.emplace_back();
    for (const graph::Dim dim : module_.value(id).type.dims) {
      graph::for_each_symbol(dim, [&](int symbol) {
        if (module_.dims->info(symbol).defined) plans();  // throws
      });
      shape.push_back(graph::evaluate(dim, symbols));
    }
  }
  return shapes;
}

void SegmentedExecutable::trim() const {
  for (const SegmentStep& step : steps_)
    for (const Model* const part : {step.model.get(), step.body.get()})
      if (part != nullptr) part->executable().trim();
}

std::unique_ptr<Execution> SegmentedExecutable::make_execution(CallPorts& ports,
                                                               SessionState*) const {
  return std::make_unique<SegmentedExecution>(*this, ports);
}

}  // namespace dyn::runtime
