#include "src/runtime/load/model.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {
namespace {

/// Bytes of a weight as it lies in memory. Scales belong to its panels, and are few beside them.
double resident_bytes(const graph::Module& module, const rkernel::Operand& operand) {
  if (operand.form == rkernel::Form::Scales) return 0;
  double bytes = operand.coding ? rkernel::Factors(operand.coding).step_bytes()
                                : static_cast<double>(size_of(operand.dtype));
  for (const graph::Dim dim : module.value(operand.buffer).type.dims)
    bytes *= static_cast<double>(dim.constant().value_or(1));
  return bytes;
}

/// At most as many elements as the problem has points: a bound for what a gather reads.
double points(const rkernel::Problem& problem, std::span<const std::int64_t> symbols) {
  double product = 1;
  for (const rkernel::Axis& axis : problem.axes)
    product *= static_cast<double>(evaluate(axis.extent, symbols));
  return product;
}

NamedShapes named(const std::vector<PortInfo>& ports, std::vector<Shape> shapes) {
  NamedShapes named;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    named.emplace_back(ports[i].name, std::move(shapes[i]));
  return named;
}

}  // namespace

std::vector<const Shape*> Model::in_model_order(const NamedShapes& shapes) const {
  const std::vector<PortInfo>& ports = inputs();
  std::vector<const Shape*> ordered(ports.size());
  for (const auto& [name, shape] : shapes) {
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const PortInfo& candidate) {
      return candidate.name == name;
    });
    if (port == ports.end())
      throw Error(ErrorKind::user, fmt::format("the model has no input '{}'", name));
    const Shape*& slot = ordered[static_cast<std::size_t>(port - ports.begin())];
    if (slot != nullptr)
      throw Error(ErrorKind::user, fmt::format("input '{}' is given twice", name));
    slot = &shape;
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ordered[i] == nullptr)
      throw Error(ErrorKind::user, fmt::format("input '{}' is missing", ports[i].name));
  }
  return ordered;
}

std::shared_ptr<const Model> model_at(std::shared_ptr<const Model> model,
                                      const NamedShapes& inputs) {
  while (std::shared_ptr<const Model> variant = model->variant_at(inputs))
    model = std::move(variant);
  return model;
}

std::vector<std::shared_ptr<const Model>> Model::segments() const {
  std::vector<std::shared_ptr<const Model>> models;
  for (const SegmentStep& step : steps()) {
    if (step.model) models.push_back(step.model);
  }
  return models;
}

std::string Model::explain(std::size_t group, const Plan& plan) const {
  return kernel(group).explain({plan.symbols, threads()});
}

std::vector<std::int64_t> Model::bind(const NamedShapes& inputs) const {
  const Binder& binder = executable_->binder();
  executable_->refuse_states();
  return binder.bind(in_model_order(inputs));
}

std::vector<std::string> Model::dims_without_value(
    const std::map<std::string, std::int64_t>& dims) const {
  return executable_->binder().dims_without_value(dims);
}

std::vector<std::int64_t> Model::bind_dims(const std::map<std::string, std::int64_t>& dims) const {
  return executable_->binder().bind_dims(dims);
}

NamedShapes Model::input_shapes(std::span<const std::int64_t> symbols) const {
  return named(inputs(), executable_->binder().input_shapes(symbols));
}

NamedShapes Model::output_shapes(std::span<const std::int64_t> symbols) const {
  return named(outputs(), executable_->output_shapes(symbols));
}

double Model::weight_bytes_read(const Plan& plan) const {
  std::map<graph::ValueId, double> read;
  for (const rkernel::Problem& problem : problems()) {
    if (points(problem, plan.symbols) == 0) continue;
    for (const rkernel::Operand& operand : problem.operands) {
      if (module().value(operand.buffer).kind != graph::ValueKind::Weight) continue;
      double bytes = resident_bytes(module(), operand);
      if (operand.gathers)
        bytes = std::min(
            bytes, points(problem, plan.symbols) * static_cast<double>(size_of(operand.dtype)));
      double& most = read[operand.buffer];
      most = std::max(most, bytes);
    }
  }
  double sum = 0;
  for (const auto& [weight, bytes] : read) sum += bytes;
  return sum;
}

}  // namespace dyn::runtime
