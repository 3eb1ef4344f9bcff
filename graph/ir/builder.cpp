#include "graph/ir/builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/custom_op.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/verify.hpp"
#include "graph/ops/state_rules.hpp"
#include "graph/shapes/propagate.hpp"

namespace dyn::graph {

namespace {

/// Operators may be defined by each other, but not by themselves.
constexpr int most_definition_depth = 32;

bool is_defined(const Node& node) {
  const CustomOp* op = custom_op(node);
  return op != nullptr && op->has_definition();
}

}  // namespace

Builder::Builder(std::string name, std::string source_name,
                 std::shared_ptr<const CustomOps> operators)
    : operators_(std::move(operators)) {
  module_.name = std::move(name);
  module_.source_name = std::move(source_name);
}

Builder::Builder(Module module, UniqueNames names, std::shared_ptr<const CustomOps> operators)
    : module_(std::move(module)), operators_(std::move(operators)), names_(std::move(names)) {}

Builder::~Builder() = default;

Dim Builder::resolve(Dim dim) const { return propagation_ ? propagation_->resolve(dim) : dim; }

std::span<const Constraint> Builder::constraints(std::size_t node) const {
  return propagation_->constraints(node);
}

Dim Builder::symbol(SymbolInfo info) {
  const Dim dim = module_.dims->symbol(std::move(info));
  module_.declared_symbols.push_back(*dim.symbol());
  if (propagation_) propagation_->add_symbols();
  return dim;
}

ValueId Builder::add_value(Value value, const std::string& name) {
  value.name = names_.unique(name);
  module_.values.push_back(std::move(value));
  return static_cast<ValueId>(module_.values.size()) - 1;
}

ValueId Builder::add_port(ValueKind kind, std::string name, TensorType type) {
  if (!names_.take(name))
    throw Error(ErrorKind::model, fmt::format("{}: two {}s are called {}", module_.source_name,
                                              kind == ValueKind::Input ? "input" : "state", name));
  Value value;
  value.name = std::move(name);
  value.kind = kind;
  value.type = std::move(type);
  for (Dim& dim : value.type.dims) dim = resolve(dim);
  module_.values.push_back(std::move(value));
  return static_cast<ValueId>(module_.values.size()) - 1;
}

ValueId Builder::input(std::string name, TensorType type) {
  const ValueId id = add_port(ValueKind::Input, std::move(name), std::move(type));
  module_.inputs.push_back(id);
  if (propagation_) propagation_->add_given(module_.value(id).type);
  return id;
}

ValueId Builder::state(std::string name, TensorType type) {
  const ValueId id = add_port(ValueKind::State, std::move(name), std::move(type));
  module_.states.push_back(id);
  if (propagation_) propagation_->add_given(module_.value(id).type);
  return id;
}

ValueId Builder::weight(const std::string& name, TensorType type, WeightSource source) {
  Value value;
  value.kind = ValueKind::Weight;
  value.type = std::move(type);
  value.weight = std::move(source);
  return add_value(std::move(value), name);
}

ValueId Builder::splat(const std::string& name, TensorType type, double element) {
  return weight(name, std::move(type), {WeightSource::Kind::Splat, element, 0, {}});
}

bool Builder::rename(ValueId id, const std::string& name) {
  if (!names_.take(name)) return false;
  module_.value(id).name = name;
  return true;
}

ValueId Builder::number(DType dtype, double number) {
  Value value;
  value.kind = ValueKind::Constant;
  value.type.dtype = dtype;
  value.constant = number;
  return add_value(std::move(value), "%number");
}

ValueId Builder::integer(DType dtype, std::int64_t integer) {
  Value value;
  value.kind = ValueKind::Constant;
  value.type.dtype = dtype;
  value.integer = integer;
  return add_value(std::move(value), "%number");
}

std::vector<ValueId> Builder::add(std::string_view op, std::vector<ValueId> inputs,
                                  std::vector<Attr> attrs, const std::vector<std::string>& names) {
  Node node;
  node.op = find_op(op, operators_.get());
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  std::vector<std::string> unique;
  for (const std::string& name : names) unique.push_back(names_.unique(name));
  return add_named(std::move(node), unique);
}

std::vector<ValueId> Builder::add_named(Node node, const std::vector<std::string>& names) {
  if (!propagation_) propagation_ = std::make_unique<Propagation>(module_);
  node.location = location_;
  if (node.op != nullptr && is_defined(node)) return add_definition(std::move(node), names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    Value value;
    value.name = names[i];
    value.producer = static_cast<int>(module_.nodes.size());
    value.output_index = static_cast<int>(i);
    value.location = location_;
    module_.values.push_back(std::move(value));
    node.outputs.push_back(static_cast<ValueId>(module_.values.size()) - 1);
  }
  const std::vector<ValueId> outputs = node.outputs;
  module_.nodes.push_back(std::move(node));
  verify_node(module_, static_cast<int>(module_.nodes.size()) - 1);
  propagation_->add_node();
  return outputs;
}

/// Results that the definition has made get the names of the node's.
std::vector<ValueId> Builder::add_definition(Node node, const std::vector<std::string>& names) {
  node.outputs.assign(names.size(), no_value);
  verify_call(module_, node);
  if (definition_depth_ == most_definition_depth)
    fail_at(module_, location_,
            fmt::format("{}: operators are defined by each other more than {} deep", node.op->name,
                        most_definition_depth));
  const auto first_new = static_cast<ValueId>(module_.values.size());
  ++definition_depth_;
  std::vector<ValueId> results;
  try {
    results = custom_op(node)->define(*this, node);
  } catch (const Error& error) {
    if (--definition_depth_ > 0 || location_.line <= 0) throw;
    throw error.within(fmt::format("{} ({})", node.op->name, place_of(module_, location_)));
  }
  --definition_depth_;
  if (results.size() != names.size())
    fail_at(module_, location_,
            fmt::format("the definition of {} gives {} result(s), not {}", node.op->name,
                        results.size(), names.size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value& value = module_.value(results[i]);
    const bool is_first =
        std::find(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(i), results[i]) ==
        results.begin() + static_cast<std::ptrdiff_t>(i);
    if (results[i] >= first_new && value.kind == ValueKind::Result && is_first)
      value.name = names[i];
  }
  return results;
}

ValueId Builder::add(std::string_view op, std::vector<ValueId> inputs, const std::string& name,
                     std::vector<Attr> attrs) {
  return add(op, std::move(inputs), std::move(attrs), std::vector{name}).front();
}

Module Builder::finish(const std::vector<ValueId>& outputs, std::vector<std::string> names,
                       std::vector<std::string> weight_files) {
  module_.outputs = outputs;
  module_.output_names = std::move(names);
  module_.weight_files = std::move(weight_files);
  if (!propagation_) propagation_ = std::make_unique<Propagation>(module_);
  propagation_->finish();
  propagation_.reset();
  verify(module_);
  find_length(module_);
  return std::exchange(module_, Module());
}

bool needs_definitions(const Module& module) {
  return std::ranges::any_of(module.nodes, is_defined);
}

Module with_definitions(Module module, std::shared_ptr<const CustomOps> operators) {
  UniqueNames names;
  Module shell = module;
  shell.values.clear();
  shell.nodes.clear();
  std::vector<ValueId> taken(module.values.size(), no_value);
  for (std::size_t i = 0; i < module.values.size(); ++i) {
    names.take(module.values[i].name);
    if (module.values[i].kind == ValueKind::Result) continue;
    taken[i] = static_cast<ValueId>(shell.values.size());
    shell.values.push_back(module.values[i]);
  }
  const auto take = [&](ValueId& id) { id = taken[static_cast<std::size_t>(id)]; };
  for (std::vector<ValueId>* ports : {&shell.inputs, &shell.states})
    std::ranges::for_each(*ports, take);
  Builder builder(std::move(shell), std::move(names), std::move(operators));
  for (Node& node : module.nodes) {
    std::vector<std::string> results;
    for (const ValueId id : node.outputs) results.push_back(module.value(id).name);
    const std::vector<ValueId> old = std::exchange(node.outputs, {});
    std::ranges::for_each(node.inputs, take);
    builder.location_ = node.location;
    const std::vector<ValueId> made = builder.add_named(node, results);
    for (std::size_t i = 0; i < old.size(); ++i) taken[static_cast<std::size_t>(old[i])] = made[i];
  }
  std::ranges::for_each(module.outputs, take);
  return builder.finish(module.outputs, module.output_names, module.weight_files);
}

}  // namespace dyn::graph
