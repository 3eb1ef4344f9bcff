// Inputs and attributes of nodes as the graph has them.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/text/lexer.hpp"
#include "graph/text/literals.hpp"
#include "graph/text/suggest.hpp"
#include "src/runtime/build/builder_state.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

std::shared_ptr<BuilderState> BuilderState::of(std::string_view op, const Values& inputs) {
  for (const Value& input : inputs)
    if (input.state_) return input.state_;
  user_error(
      fmt::format("{}: all its inputs are numbers, which belong to no model; Builder::op "
                  "adds such a node",
                  op));
}

BuilderState& BuilderState::of(const Value& value) {
  if (!value.state_) user_error("a number has neither a type nor a name before it is used");
  return *value.state_;
}

/// As the text reads it: an integer is i64 and a float f32 until it stands beside a tensor.
graph::Value BuilderState::literal(const Value& value) {
  graph::Value literal;
  literal.kind = graph::ValueKind::Constant;
  if (const bool* truth = std::get_if<bool>(&value.number_)) {
    literal.type.dtype = DType::boolean;
    literal.integer = *truth ? 1 : 0;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value.number_)) {
    literal.type.dtype = DType::i64;
    literal.integer = *integer;
  } else {
    literal.type.dtype = DType::f32;
    literal.constant = std::get<double>(value.number_);
  }
  return literal;
}

graph::ValueId BuilderState::number(const Value& value, std::optional<DType> dtype) {
  graph::Value made = literal(value);
  if (value.number_dtype_) dtype = value.number_dtype_;
  if (dtype) convert_literal(nodes().module(), made, *dtype);
  return is_float(made.type.dtype) ? nodes().number(made.type.dtype, made.constant)
                                   : nodes().integer(made.type.dtype, made.integer);
}

std::vector<graph::ValueId> BuilderState::operands(const graph::OpDef& op, const Values& inputs) {
  std::vector<graph::LiteralOperand> literals;
  for (const Value& input : inputs) {
    if (input.state_) {
      literals.push_back({type(id_in(input)).dtype});
    } else {
      const bool open = !input.number_dtype_ && !std::holds_alternative<bool>(input.number_);
      literals.push_back({input.number_dtype_.value_or(literal(input).type.dtype), true, open});
    }
  }
  const std::optional<DType> common = dtype_of_literals(op, literals);
  std::vector<graph::ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool takes = literals[i].is_open && !keeps_own_dtype(op, i);
    ids.push_back(inputs[i].state_ ? id_in(inputs[i])
                                   : number(inputs[i], takes ? common : std::nullopt));
  }
  return ids;
}

std::vector<graph::Attr> BuilderState::converted(const graph::OpDef& op,
                                                 const Attributes& attributes) {
  std::vector<graph::Attr> attrs;
  for (const Attribute& attribute : attributes) {
    const graph::AttrDef* def = op.find_attr(attribute.name);
    if (def == nullptr)
      model_error(unknown_attribute(op, attribute.name, fmt::format("`{}`", attribute.name)));
    attrs.push_back({def->name, converted(*def, attribute.value)});
  }
  return attrs;
}

/// What is of another kind than the operator asks stays so, and is refused with the node.
graph::AttrValue BuilderState::converted(const graph::AttrDef& def, const AttributeValue& value) {
  const auto of_table = [&](const Dim& dim) { return dim.in(table()); };
  if (const auto* word = std::get_if<std::string>(&value.held())) {
    if (graph::quote_name(*word) != *word)
      model_error(
          fmt::format("the attribute `{}` is no word: {}", def.name, graph::quote_text(*word)));
    return *word;
  }
  if (const auto* list = std::get_if<Dims>(&value.held())) {
    std::vector<graph::Dim> dims;
    std::ranges::transform(*list, std::back_inserter(dims), of_table);
    return dims;
  }
  if (const auto* dim = std::get_if<Dim>(&value.held())) {
    if (def.kind == graph::AttrKind::Float && dim->constant())
      return static_cast<double>(*dim->constant());
    return of_table(*dim);
  }
  if (const bool* truth = std::get_if<bool>(&value.held())) return *truth;
  return std::get<double>(value.held());
}

}  // namespace dyn::runtime
