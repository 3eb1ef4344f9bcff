#include "src/runtime/build/builder_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/dims/checked.hpp"
#include "graph/dims/dim_info.hpp"
#include "graph/ir/custom_op.hpp"
#include "graph/ir/verify.hpp"
#include "graph/text/lexer.hpp"
#include "graph/text/literals.hpp"
#include "graph/text/suggest.hpp"
#include "graph/text/text.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

BuilderState::BuilderState(const std::string& name, const Operators& operators)
    : owned_(std::make_unique<graph::Builder>(name, name, operators.set())),
      graph_(owned_.get()),
      operators_(operators) {}

graph::Builder& BuilderState::nodes() const {
  if (graph_ == nullptr)
    user_error("the value belongs to the definition of an operator, which is over");
  return *graph_;
}

void BuilderState::refuse_in_definition(const char* what) const {
  if (is_definition_)
    user_error(
        fmt::format("the definition of an operator adds {} to the model; it has its inputs "
                    "and what it makes of them",
                    what));
}

void BuilderState::require_open() const {
  nodes();
  if (finished_)
    user_error("the model is whole: it was loaded or asked for its text; build another");
  if (!broken_.empty()) user_error("the model cannot be used after an error: " + broken_);
}

void BuilderState::check_new_name(const char* what, const std::string& name) const {
  if (name.empty()) model_error(fmt::format("the name of {} cannot be empty", what));
  if (nodes().has_name(name))
    model_error(fmt::format("{} cannot be called `{}`: another value is called so", what, name));
}

Dim BuilderState::dim(const std::string& name, const DimRange& range) {
  require_open();
  refuse_in_definition("a dim");
  const std::string shown = fmt::format("`{}`", name);
  graph::SymbolInfo info{name, range.low, range.high, range.multiple, range.hint};
  if (!name.empty()) {
    if (graph::quote_name(name) != name || name.find('.') != std::string::npos ||
        !graph::can_name_dim(name))
      model_error(
          fmt::format("{} cannot name a dim: letters, digits and _ can, and no word that "
                      "the text reserves",
                      shown));
    if (table()->find_symbol(name)) model_error(fmt::format("the dim {} is defined twice", shown));
  }
  if (const std::string wrong = wrong_symbol(info, shown); !wrong.empty()) model_error(wrong);
  if (name.empty()) return {table(), table()->symbol(std::move(info))};
  return {table(), nodes().symbol(std::move(info))};
}

Dims BuilderState::read_dims(std::string_view text) {
  require_open();
  Dims dims;
  for (const graph::Dim dim : graph::parse_dims(text, table(), !is_definition_))
    dims.emplace_back(table(), dim);
  return dims;
}

graph::TensorType BuilderState::port_type(const std::string& name, DType dtype, const Dims& dims,
                                          bool is_state) const {
  graph::TensorType type{dtype, {}};
  if (dims.size() > graph::max_rank)
    model_error(fmt::format("`{}` has {} dims; at most {} are supported", name, dims.size(),
                            graph::max_rank));
  for (const Dim& dim : dims) {
    type.dims.push_back(dim.in(table()));
    if (dim.constant().value_or(0) < 0)
      model_error(fmt::format("the dim {} of `{}` is negative", dim.to_string(), name));
    if (is_state && dim.high() == graph::int64_max)
      model_error(
          fmt::format("the dim {} of the state `{}` has no upper bound", dim.to_string(), name));
  }
  if (!graph::is_countable(type))
    model_error(
        fmt::format("`{}` is {}, with more bytes than 63 bits count", name, to_string(type)));
  return type;
}

Value BuilderState::input(const std::string& name, DType dtype, const Dims& dims) {
  require_open();
  refuse_in_definition("an input");
  check_new_name("an input", name);
  return value(nodes().input(name, port_type(name, dtype, dims, false)));
}

Value BuilderState::state(const std::string& name, DType dtype, const Dims& dims) {
  require_open();
  refuse_in_definition("a state");
  check_new_name("a state", name);
  return value(nodes().state(name, port_type(name, dtype, dims, true)));
}

Value BuilderState::weight(const std::string& name, const Tensor& elements) {
  if (!weight_files_.empty())
    user_error(
        fmt::format("the weight `{}` is given with its elements, but others come from "
                    "files; give all in one way",
                    name));
  if (elements.empty() || elements.on_device())
    user_error(fmt::format("the weight `{}` is {}; its elements must be in the host's memory", name,
                           elements.empty() ? "empty" : "on a device"));
  const Value made = weight(name, elements.dtype(), elements.shape(), {});
  given_weights_.emplace_back(name, elements);
  return made;
}

Value BuilderState::weight(const std::string& name, DType dtype, const Shape& shape,
                           const graph::WeightSource& source) {
  require_open();
  if (source.kind == graph::WeightSource::Kind::File && is_definition_)
    refuse_in_definition("a weight of a file");
  if (!is_definition_) check_new_name("a weight", name);
  using Kind = graph::WeightSource::Kind;
  if (source.kind == Kind::Splat && !is_float(dtype) && source.splat != std::trunc(source.splat))
    model_error(fmt::format("elements of `{}`, which is {}, cannot be {}", name,
                            dyn::name_of(dtype), source.splat));
  if (source.kind == Kind::Random && !is_float(dtype) && dtype != DType::i8)
    model_error(fmt::format("random weights are floats or i8, not {} as `{}` is",
                            dyn::name_of(dtype), name));
  if (source.kind == Kind::Random &&
      source.seed > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    model_error(fmt::format("the seed of `{}` has more than 63 bits", name));
  const Dims dims(shape.begin(), shape.end());
  return value(nodes().weight(name, port_type(name, dtype, dims, false), source));
}

void BuilderState::weight_file(const std::string& path) {
  require_open();
  refuse_in_definition("a file of weights");
  if (!given_weights_.empty())
    user_error(
        fmt::format("the file \"{}\" has weights, but `{}` is given with its elements; give "
                    "all in one way",
                    path, given_weights_.front().first));
  weight_files_.push_back(path);
}

void BuilderState::rename(graph::ValueId id, const std::string& name) {
  require_open();
  if (nodes().value(id).kind != graph::ValueKind::Result)
    user_error(
        fmt::format("`{}` is no result of an operator and keeps its name", nodes().value(id).name));
  if (nodes().value(id).name == name) return;
  if (!is_definition_) check_new_name("a result", name);
  nodes().rename(id, name);  // a definition's names give way to the model's
}

Dims BuilderState::dims(graph::ValueId id) const {
  Dims dims;
  for (const graph::Dim dim : type(id).dims) dims.emplace_back(table(), dim);
  return dims;
}

PortInfo BuilderState::info(graph::ValueId id) const {
  const graph::Value& value = module().value(id);
  return {value.name, value.type.dtype, to_string(value.type.dims), nullptr,
          graph::infos_of(value.type.dims)};
}

std::vector<std::string> BuilderState::result_names(std::string_view op, std::size_t results,
                                                    const std::string& name) const {
  if (!name.empty() && !is_definition_) check_new_name("a result", name);
  const std::size_t domain = op.find("::");
  if (domain != std::string_view::npos) op.remove_prefix(domain + 2);
  return std::vector(results, name.empty() ? std::string(op) : name);
}

Values BuilderState::add(std::string_view op, const Values& inputs, const Attributes& attributes,
                         std::size_t results, const std::string& name) {
  require_open();
  const std::string shown = name.empty() ? std::string(op) : fmt::format("{} '{}'", op, name);
  try {
    const graph::CustomOps* custom = nodes().operators().get();
    const graph::OpDef* def = graph::find_op(op, custom);
    if (def == nullptr) model_error(graph::unknown_operator(op, fmt::format("`{}`", op), custom));
    if (results == 0 && def->outputs > 0) results = static_cast<std::size_t>(def->outputs);
    if (results == 0) model_error(fmt::format("`{}` has any number of results; say how many", op));
    if (const std::string wrong = graph::wrong_results(*def, results); !wrong.empty())
      model_error(wrong);
    std::vector<graph::Attr> attrs = converted(*def, attributes);
    std::vector<std::string> names = result_names(op, results, name);
    std::vector<graph::ValueId> ids = operands(*def, inputs);
    Values values;
    try {
      for (const graph::ValueId id : nodes().add(op, std::move(ids), std::move(attrs), names))
        values.push_back(value(id));
    } catch (const Error& error) {
      broken_ = error.message();
      throw;
    }
    return values;
  } catch (const Error& error) { throw error.within(shown); }
}

void BuilderState::output(const std::string& name, const Value& output) {
  require_open();
  refuse_in_definition("an output");
  if (name.empty()) model_error("the name of an output cannot be empty");
  if (std::ranges::find(output_names_, name) != output_names_.end())
    model_error(fmt::format("the output `{}` is defined twice", name));
  outputs_.push_back(id_in(output));
  output_names_.push_back(name);
}

graph::ValueId BuilderState::id_in(const Value& value) {
  if (!value.state_) return number(value, std::nullopt);
  if (value.state_.get() != this)
    user_error(fmt::format("`{}` is a value of another model", value.name()));
  return value.id_;
}

}  // namespace dyn::runtime
