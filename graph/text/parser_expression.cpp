// Expressions: infix operators, literals, calls, and references to values and weights.

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "graph/ir/custom_op.hpp"
#include "graph/text/literals.hpp"
#include "graph/text/parser.hpp"
#include "graph/text/suggest.hpp"

namespace dyn::graph {

namespace {

std::optional<std::uint64_t> integer_beyond_i64(const Token& token) {
  std::uint64_t value = 0;
  const bool is_read =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value).ec ==
      std::errc();
  return is_read && value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}
             ? std::optional(value)
             : std::nullopt;
}

}  // namespace

ValueId Parser::parse_expression() {
  const Nesting nesting(*this);
  ValueId left = parse_term();
  while (token_.is("+") || token_.is("-")) {
    const Token op = take();
    const ValueId right = parse_term();
    left = add_infix(op.is("+") ? "add" : "sub", {left, right}, op.location);
  }
  return left;
}

ValueId Parser::parse_term() {
  ValueId left = parse_factor();
  while (token_.is("*") || token_.is("/")) {
    const Token op = take();
    const ValueId right = parse_factor();
    left = add_infix(op.is("*") ? "mul" : "div", {left, right}, op.location);
  }
  return left;
}

ValueId Parser::parse_factor() {
  std::vector<SourceLocation> minus;  // a loop: a megabyte of them must not recurse
  while (token_.is("-")) minus.push_back(take().location);
  ValueId value = no_value;
  if (at_literal()) {
    value = parse_literal(!minus.empty());
    if (!minus.empty()) minus.pop_back();
  } else {
    value = parse_primary();
  }
  for (; !minus.empty(); minus.pop_back()) value = add_infix("neg", {value}, minus.back());
  return value;
}

ValueId Parser::parse_primary() {
  if (accept("(")) {
    const ValueId value = parse_expression();
    expect(")", "the expression");
    return value;
  }
  const Token token = token_;
  if (token.kind == TokenKind::String) return parse_reference(take_name("a value"));
  if (token.kind != TokenKind::Name)
    fail_expected("a value: a name, a number, a call or an expression in parentheses");
  if (is_operator_name(token.text)) {
    take();
    if (!token_.is("(")) fail_operator_name(token);
    return parse_call(token, 1).front();
  }
  const Name name = take_name("a value");
  return token_.is("(") ? parse_call(token, 1).front() : parse_reference(name);
}

bool Parser::at_literal() const {
  return token_.kind == TokenKind::Integer || token_.kind == TokenKind::Float ||
         token_.is_word("inf") || token_.is_word("nan") || token_.is_word("true") ||
         token_.is_word("false");
}

ValueId Parser::parse_literal(bool negative) {
  const Token token = take();
  Value value;
  value.kind = ValueKind::Constant;
  value.location = token.location;
  bool open = true;
  if (token.kind == TokenKind::Integer) {
    const std::optional<std::uint64_t> beyond = negative ? std::nullopt : integer_beyond_i64(token);
    value.type.dtype = beyond ? DType::u64 : DType::i64;
    value.integer = beyond ? static_cast<std::int64_t>(*beyond) : to_integer(token, negative);
  } else if (token.is_word("true") || token.is_word("false")) {
    if (negative) fail(token.location, "a bool has no sign");
    value.type.dtype = DType::boolean;
    value.integer = token.is_word("true") ? 1 : 0;
    open = false;
  } else {
    value.constant = to_float(token, negative);
  }
  if (open && accept(":")) {
    convert_literal(module_, value, parse_dtype_name());
    open = false;
  }
  const ValueId id = add_value(std::move(value));
  if (open) open_literals_.push_back(id);
  return id;
}

std::vector<ValueId> Parser::parse_call(const Token& name, std::size_t results) {
  const OpDef* op = find_op(name.text, operators_.get());
  if (op == nullptr)
    fail(name.location, unknown_operator(name.text, describe(name), operators_.get()));
  Node node;
  node.op = op;
  node.location = name.location;
  expect("(", fmt::format("the operator {}", describe(name)));
  if (!token_.is(")")) {
    do { node.inputs.push_back(parse_expression()); } while (accept(","));
  }
  expect(")", "an argument");
  parse_attributes(node);
  if (const std::string wrong = wrong_results(*op, results); !wrong.empty())
    fail(name.location, wrong);
  return append_node(std::move(node), results);
}

ValueId Parser::add_infix(std::string_view op, std::vector<ValueId> inputs,
                          SourceLocation location) {
  Node node;
  node.op = find_op(op);
  node.inputs = std::move(inputs);
  node.location = location;
  return append_node(std::move(node), 1).front();
}

std::vector<ValueId> Parser::append_node(Node node, std::size_t results) {
  for (std::size_t i = 0; i < results; ++i) {
    Value value;
    value.kind = ValueKind::Result;
    value.producer = static_cast<int>(module_.nodes.size());
    value.output_index = static_cast<int>(i);
    value.location = node.location;
    node.outputs.push_back(add_value(std::move(value)));
    anonymous_.emplace_back(node.outputs.back(), targets_.empty()
                                                     ? node.op->name
                                                     : targets_[0].text + "_" + node.op->name);
  }
  module_.nodes.push_back(std::move(node));
  return module_.nodes.back().outputs;
}

ValueId Parser::parse_reference(const Name& name) {
  const auto known = names_.find(name.text);
  if (accept(":")) return declare_weight(name, parse_type(DimsOf::Weight), {});
  if (known == names_.end()) fail_unknown_name(name);
  const Value& value = module_.value(known->second);
  if (value.kind != ValueKind::Constant) return known->second;
  // Each use of a named literal may take another dtype.
  const bool open = std::binary_search(open_literals_.begin(), open_literals_.end(), known->second);
  const ValueId copy = add_value(Value(value));
  if (open) open_literals_.push_back(copy);
  return copy;
}

}  // namespace dyn::graph
