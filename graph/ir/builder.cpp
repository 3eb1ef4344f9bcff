#include "graph/ir/builder.hpp"

#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/verify.hpp"
#include "graph/shapes/propagate.hpp"

namespace dyn::graph {

Builder::Builder(std::string name, std::string source_name) {
  module_.name = std::move(name);
  module_.source_name = std::move(source_name);
}

Builder::~Builder() = default;

Dim Builder::resolve(Dim dim) const { return propagation_ ? propagation_->resolve(dim) : dim; }

std::span<const Constraint> Builder::constraints(std::size_t node) const {
  return propagation_->constraints(node);
}

Dim Builder::symbol(SymbolInfo info) {
  const Dim dim = module_.dims->symbol(std::move(info));
  module_.declared_symbols.push_back(*dim.symbol());
  return dim;
}

ValueId Builder::add_value(Value value, const std::string& name) {
  value.name = names_.unique(name);
  module_.values.push_back(std::move(value));
  return static_cast<ValueId>(module_.values.size()) - 1;
}

ValueId Builder::input(std::string name, TensorType type) {
  if (!names_.take(name))
    throw Error(ErrorKind::model,
                fmt::format("{}: two inputs are called {}", module_.source_name, name));
  Value value;
  value.name = std::move(name);
  value.kind = ValueKind::Input;
  value.type = std::move(type);
  module_.values.push_back(std::move(value));
  module_.inputs.push_back(static_cast<ValueId>(module_.values.size()) - 1);
  return module_.inputs.back();
}

ValueId Builder::weight(const std::string& name, TensorType type) {
  Value value;
  value.kind = ValueKind::Weight;
  value.type = std::move(type);
  return add_value(std::move(value), name);
}

ValueId Builder::splat(const std::string& name, TensorType type, double element) {
  const ValueId id = weight(name, std::move(type));
  module_.value(id).weight = {WeightSource::Kind::Splat, element, 0, {}};
  return id;
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
  if (!propagation_) propagation_ = std::make_unique<Propagation>(module_);
  Node node;
  node.op = find_op(op);
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  for (std::size_t i = 0; i < names.size(); ++i) {
    Value value;
    value.producer = static_cast<int>(module_.nodes.size());
    value.output_index = static_cast<int>(i);
    node.outputs.push_back(add_value(std::move(value), names[i]));
  }
  const std::vector<ValueId> outputs = node.outputs;
  module_.nodes.push_back(std::move(node));
  verify_node(module_, static_cast<int>(module_.nodes.size()) - 1);
  propagation_->add_node();
  return outputs;
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
  return std::exchange(module_, Module());
}

}  // namespace dyn::graph
