#include "src/runtime/load/model.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/runtime/load/model_impl.hpp"
#include "src/runtime/plan/oracle.hpp"

namespace dyn::runtime {
namespace {

/// Pointers to the shapes in the model's order. Throws Error(user) for a name that is missing,
/// unknown or given twice.
std::vector<const Shape*> in_model_order(const std::vector<PortInfo>& ports,
                                         const NamedShapes& shapes) {
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

/// Of a weight, as it lies in memory; scales belong to its panels, and are few beside them.
double resident_bytes(const graph::Module& module, const rkernel::Operand& operand) {
  if (operand.form == rkernel::Form::Scales) return 0;
  double bytes = static_cast<double>(size_of(operand.dtype));
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

}  // namespace

std::shared_ptr<const Model> Model::undecided(std::vector<PortInfo> inputs,
                                              std::vector<PortInfo> outputs, const Options& options,
                                              Structures structures) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->inputs = std::move(inputs);
  impl->outputs = std::move(outputs);
  impl->structures = std::make_unique<Structures>(std::move(structures));
  return std::shared_ptr<const Model>(new Model(std::move(impl)));
}

std::vector<std::string> Model::deciding_inputs() const {
  return impl_->structures ? impl_->structures->deciding() : std::vector<std::string>();
}

void Model::require_structure() const {
  if (!impl_->structures) return;
  throw Error(ErrorKind::user,
              fmt::format("the values of its input(s) {} decide the structure of the model; give "
                          "them at load (Options::known_inputs, --load-inputs), or just run it",
                          fmt::join(deciding_inputs(), ", ")));
}

std::vector<std::shared_ptr<const Model>> Model::segments() const {
  std::vector<std::shared_ptr<const Model>> models;
  for (const SegmentStep& step : impl_->segments) {
    if (step.model) models.push_back(step.model);
  }
  return models;
}

void Model::require_plan() const {
  if (impl_->segments.empty()) return;
  throw Error(ErrorKind::user, fmt::format("sizes in the model '{}' depend on the values of its "
                                           "inputs; they are known when it has run, and not before",
                                           impl_->module.name));
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

const Options& Model::options() const noexcept { return impl_->options; }
int Model::threads() const noexcept { return impl_->threads; }
const LoadReport& Model::load_report() const noexcept { return impl_->report; }
std::string Model::device_name() const {
  if (!impl_->segments.empty() && !segments().empty()) return segments().front()->device_name();
  if (impl_->structures || !impl_->segments.empty()) return impl_->options.device;
  return impl_->is_reference() ? reference_device : impl_->target->name();
}
const std::vector<PortInfo>& Model::inputs() const noexcept { return impl_->inputs; }
const std::vector<PortInfo>& Model::outputs() const noexcept { return impl_->outputs; }
const graph::Module& Model::module() const noexcept { return impl_->module; }
const graph::Fusion& Model::fusion() const noexcept { return impl_->fusion; }
const std::vector<rkernel::Problem>& Model::problems() const noexcept { return impl_->problems; }
const rkernel::Kernel& Model::kernel(std::size_t group) const { return *impl_->kernels.at(group); }

std::string Model::explain(std::size_t group, const Plan& plan) const {
  return kernel(group).explain({plan.symbols, impl_->threads});
}

std::vector<CopyInfo> Model::copies(const Plan& plan) const {
  const Wiring& wiring = impl_->wiring;
  const auto place = [&](int group) {
    const auto index = static_cast<std::size_t>(group);
    return fmt::format("'{}' on {}", wiring.group_names[index], kernel(index).target_name());
  };
  std::vector<CopyInfo> copies;
  for (std::size_t i = 0; i < wiring.transfers.size(); ++i) {
    const Transfer& transfer = wiring.transfers[i];
    CopyInfo& copy = copies.emplace_back();
    copy.tensor = impl_->module.value(transfer.value).name;
    copy.to_device = transfer.to == rkernel::Space::Device;
    if (transfer.reader != no_group)
      copy.before = wiring.group_names[static_cast<std::size_t>(transfer.reader)];
    copy.reason = fmt::format(
        "{}; {}", transfer.writer == no_group ? "an input" : "written by " + place(transfer.writer),
        transfer.reader == no_group ? "an output" : "needed by " + place(transfer.reader));
    copy.bytes = plan.device_bytes[static_cast<std::size_t>(wiring.transfer_buffers[i])];
  }
  return copies;
}

std::size_t Model::host_weight_bytes() const noexcept { return impl_->weights.bytes(); }
std::size_t Model::device_weight_bytes() const noexcept { return impl_->device_weights.bytes(); }

std::vector<std::int64_t> Model::bind(const NamedShapes& inputs) const {
  require_structure();
  refuse_states();
  return impl_->binder->bind(in_model_order(impl_->inputs, inputs));
}

void Model::refuse_states() const {
  if (impl_->states.empty()) return;
  throw Error(ErrorKind::user,
              fmt::format("the model '{}' has state, '{}' among it, which lives in a session; make "
                          "a dyn::Session of the "
                          "graph and run that",
                          impl_->module.name, impl_->module.value(impl_->states[0].state).name));
}

std::vector<std::int64_t> Model::bind_dims(const std::map<std::string, std::int64_t>& dims) const {
  return impl_->binder->bind_dims(dims);
}

NamedShapes Model::input_shapes(std::span<const std::int64_t> symbols) const {
  NamedShapes named;
  std::vector<Shape> shapes = impl_->binder->input_shapes(symbols);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    named.emplace_back(impl_->inputs[i].name, std::move(shapes[i]));
  return named;
}

NamedShapes Model::output_shapes(std::span<const std::int64_t> symbols) const {
  require_plan();
  NamedShapes named;
  std::vector<Shape> shapes = impl_->planner->output_shapes(symbols);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    named.emplace_back(impl_->outputs[i].name, std::move(shapes[i]));
  return named;
}

PlanPtr Model::plan(std::span<const std::int64_t> symbols) const {
  require_plan();
  if (PlanPtr known = impl_->plans->find(symbols)) return known;
  std::unique_lock measuring(impl_->measuring, std::defer_lock);
  if (impl_->by_oracle) {
    measuring.lock();
    if (PlanPtr known = impl_->plans->find(symbols)) return known;
  }
  PlanPtr made = impl_->planner->make(symbols);
  if (impl_->by_oracle) made = measured_plan(*this, made);
  PlanPtr kept = impl_->plans->insert(made);
  if (kept == made) impl_->shapes_planned.fetch_add(1, std::memory_order_relaxed);
  return kept;
}

PlanPtr Model::plan_uncached(std::span<const std::int64_t> symbols) const {
  return impl_->planner->make(symbols);
}

double Model::weight_bytes_read(const Plan& plan) const {
  std::map<graph::ValueId, double> read;
  for (const rkernel::Problem& problem : impl_->problems) {
    if (points(problem, plan.symbols) == 0) continue;
    for (const rkernel::Operand& operand : problem.operands) {
      if (impl_->module.value(operand.buffer).kind != graph::ValueKind::Weight) continue;
      double bytes = resident_bytes(impl_->module, operand);
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

std::int64_t Model::kernels_compiled_since_load() const {
  return impl_->target == nullptr ? 0
                                  : impl_->target->functions_compiled() - impl_->compiled_at_load;
}

std::int64_t Model::shapes_planned() const {
  return impl_->shapes_planned.load(std::memory_order_relaxed);
}

}  // namespace dyn::runtime
