// The header lines, the signature and the statements.

#include "graph/text/parser.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/ir/builder.hpp"
#include "graph/ops/state_rules.hpp"
#include "graph/text/literals.hpp"
#include "graph/text/suggest.hpp"
#include "graph/text/text.hpp"

namespace dyn::graph {
namespace {

const std::vector<std::string_view> header_words = {"dim",   "weights", "weight",
                                                    "state", "body",    "graph"};

}  // namespace

Parser::Parser(Module& module, std::shared_ptr<const CustomOps> operators)
    : module_(module), operators_(std::move(operators)), lexer_(module) {
  token_ = lexer_.next();
}

void Parser::run() {
  parse_version();
  while (!token_.is_word("graph")) parse_header();
  parse_graph();
  skip_newlines();
  if (token_.kind != TokenKind::End) fail_expected("the end of the file after the graph");
  finish_module();
}

/// Everything but the order of the nodes is checked here, and types are inferred.
void Parser::finish_module() {
  name_anonymous_values();
  module_.bodies = bodies_;
  verify(module_);
  resolve_literals(module_, open_literals_);
  if (needs_definitions(module_))
    module_ = with_definitions(std::move(module_), operators_);
  else
    propagate_shapes(module_);
  find_length(module_);
  count_loops();
}

void Parser::count_loops() {
  int deepest = 0;
  for (const Node& node : module_.nodes) {
    if (node.op->id != OpId::Loop) continue;
    const int depth = loop_depth_.at(attr_word(node, "body")) + 1;
    if (depth > max_loop_depth)
      fail(node.location, fmt::format("loops are in loops more than {} deep", max_loop_depth));
    deepest = std::max(deepest, depth);
  }
  loop_depth_[module_.name] = deepest;
}

/// A body is a module like the model's. The header's lines before it are its own, but for the files
/// of weights, which are those of all modules that follow.
void Parser::parse_body() {
  const SourceLocation location = token_.location;
  if (!module_.states.empty()) fail(location, "a body has no state; it stands before the graph");
  parse_graph();
  if (has_texts(module_)) fail(location, "a body has no ports of texts");
  expect_line_end("the body");
  for (const std::shared_ptr<const Module>& other : bodies_) {
    if (other->name == module_.name)
      fail(location, fmt::format("the body `{}` is defined twice", module_.name));
  }
  finish_module();
  Module next;
  next.source_name = module_.source_name;
  next.source_text = module_.source_text;
  next.weight_files = module_.weight_files;
  bodies_.push_back(std::make_shared<const Module>(std::exchange(module_, std::move(next))));
  names_.clear();
  targets_.clear();
  anonymous_.clear();
  open_literals_.clear();
  dim_names_.clear();
}

void Parser::parse_version() {
  skip_newlines();
  if (token_.kind == TokenKind::End)
    fail(token_.location, "the file is empty; a model begins with `dyn 1`");
  if (!token_.is_word("dyn")) fail_expected("`dyn 1`, with which every model begins");
  take();
  const SourceLocation location = token_.location;
  const std::int64_t version = take_integer("the version of the text format after `dyn`");
  if (version > text_version) {
    fail_unsupported(location,
                     fmt::format("this file needs dyn text version {}; this library reads up to {}",
                                 version, text_version));
  }
  if (version < 1)
    fail(location, fmt::format("there is no dyn text version {}; the first is 1", version));
  expect_line_end("the version");
}

void Parser::parse_header() {
  if (token_.is_word("dim")) return parse_dim_line();
  if (token_.is_word("weights")) return parse_weights_line();
  if (token_.is_word("weight")) return parse_weight_line();
  if (token_.is_word("dyn")) fail(token_.location, "the version is given twice");
  if (token_.is_word("state")) return parse_state_line();
  if (token_.is_word("body")) return parse_body();
  const std::string hint =
      token_.kind == TokenKind::Name ? did_you_mean(token_.text, header_words) : "";
  fail(token_.location,
       fmt::format("expected `dim`, `weights`, `weight`, `state`, `body` or `graph`, found {}{}",
                   describe(token_), hint));
}

void Parser::parse_dim_line() {
  take();
  const Token name = token_;
  take_word("the name of the dim");
  if (!can_name_dim(name.text))
    fail(name.location, fmt::format("{} is reserved and cannot name a dim", describe(name)));
  if (module_.dims->find_symbol(name.text))
    fail(name.location, fmt::format("the dim {} is defined twice", describe(name)));

  if (accept("=")) {
    const Dim dim = parse_dim();
    expect_line_end("the dim");
    module_.dims->named(dim, std::string(name.text));
    dim_names_.push_back(name.text);
    return;
  }
  SymbolInfo info;
  info.name = name.text;
  if (token_.is_word("in")) {
    take();
    info.low = take_integer("the lower bound after `in`");
    expect("..", "the lower bound");
    if (token_.is_word("inf")) {
      take();
    } else {
      info.high = take_integer("the upper bound, an integer or `inf`");
    }
  }
  if (token_.is_word("multiple")) {
    take();
    info.divisor = take_integer("the divisor after `multiple`");
  }
  if (token_.is_word("hint")) {
    take();
    info.hint = take_integer("the usual value after `hint`");
  }
  if (const std::string wrong = wrong_symbol(info, describe(name)); !wrong.empty())
    fail(name.location, wrong);
  expect_line_end("the dim");
  module_.declared_symbols.push_back(*module_.dims->symbol(std::move(info)).symbol());
  dim_names_.push_back(name.text);
}

void Parser::parse_weights_line() {
  take();
  if (token_.kind != TokenKind::String)
    fail_expected("the name of a safetensors file in quotes after `weights`");
  module_.weight_files.push_back(unquote(take()));
  expect_line_end("the file name");
}

void Parser::parse_weight_line() {
  take();
  const Name name = take_name("the name of the weight");
  expect(":", "the name of the weight");
  TensorType type = parse_type(DimsOf::Weight);
  expect("=", "the type of the weight");
  WeightSource source;
  const SourceLocation location = token_.location;
  const std::string_view kind = take_word("`splat` or `random`");
  if (kind == "splat") {
    source.kind = WeightSource::Kind::Splat;
    source.splat = take_number("the value of all elements after `splat`");
    if (!is_float(type.dtype) && source.splat != std::trunc(source.splat)) {
      fail(location, fmt::format("elements of {} cannot be {}", name_of(type.dtype), source.splat));
    }
  } else if (kind == "random") {
    source.kind = WeightSource::Kind::Random;
    const std::int64_t seed = take_integer("the seed after `random`");
    if (seed < 0) fail(location, "a seed is not negative");
    if (!is_float(type.dtype) && type.dtype != DType::i8)
      fail(location, fmt::format("random weights are floats or i8, not {}", name_of(type.dtype)));
    source.seed = static_cast<std::uint64_t>(seed);
  } else {
    fail(location, fmt::format("expected `splat` or `random`, found `{}`; a weight from a file is "
                               "declared where it is "
                               "first used",
                               kind));
  }
  expect_line_end("the weight");
  declare_weight(name, std::move(type), source);
}

void Parser::parse_state_line() {
  take();
  const Name name = take_name("the name of the state");
  check_undefined(name);
  expect(":", "the name of the state");
  Value value;
  value.name = name.text;
  value.kind = ValueKind::State;
  value.type = parse_type(DimsOf::State);
  value.location = name.location;
  const ValueId id = add_value(std::move(value));
  define(name, id);
  module_.states.push_back(id);
  expect_line_end("the state");
}

void Parser::parse_graph() {
  take();
  module_.name = take_name("the name of the graph").text;
  expect("(", "the name of the graph");
  parse_inputs();
  expect("->", "the inputs");
  expect("(", "`->`");
  parse_outputs();
  expect("{", "the outputs");
  expect_line_end("`{`");
  while (!token_.is_word("return")) {
    if (token_.is("}"))
      fail(token_.location,
           "the graph returns nothing; its last statement is `return` with its outputs");
    parse_statement();
  }
  if (!has_texts(module_)) {
    module_.input_texts.clear();
    module_.output_texts.clear();
  }
  parse_return(take().location);
  expect("}", "the return statement, which is the last one");
}

void Parser::parse_inputs() {
  if (accept(")")) return;
  do {
    const Name name = take_name("the name of an input");
    check_undefined(name);
    expect(":", "the name of an input");
    Value value;
    value.name = name.text;
    value.kind = ValueKind::Input;
    value.type = parse_type(DimsOf::Input);
    value.location = name.location;
    const ValueId id = add_value(std::move(value));
    define(name, id);
    module_.inputs.push_back(id);
    parse_texts(name, module_.value(id).type, module_.input_texts);
  } while (accept(","));
  expect(")", "an input");
}

void Parser::parse_outputs() {
  do {
    const Name name = take_name("the name of an output");
    if (std::find(module_.output_names.begin(), module_.output_names.end(), name.text) !=
        module_.output_names.end()) {
      fail(name.location, fmt::format("the output `{}` is defined twice", name.text));
    }
    expect(":", "the name of an output");
    module_.output_names.push_back(name.text);
    module_.output_types.push_back(parse_type(DimsOf::Output));
    parse_texts(name, module_.output_types.back(), module_.output_texts);
  } while (accept(","));
  expect(")", "an output");
}

/// Reads `of ["a", "b"]` behind the type of a port, where it stands.
void Parser::parse_texts(const Name& port, const TensorType& type, std::vector<Texts>& of_ports) {
  of_ports.emplace_back();
  if (!token_.is_word("of")) return;
  if (type.dtype != DType::i64)
    fail(token_.location,
         fmt::format("`{}` is {}; a port of texts is i64, their places in the list", port.text,
                     name_of(type.dtype)));
  take();
  expect("[", "`of`");
  std::vector<std::string> texts;
  std::unordered_set<std::string> known;
  if (!token_.is("]")) {
    do {
      if (token_.kind != TokenKind::String) fail_expected("a text in quotes");
      const SourceLocation location = token_.location;
      texts.push_back(unquote(take()));
      if (!known.insert(texts.back()).second)
        fail(location, fmt::format("the text {} stands in the list of `{}` twice",
                                   quote_text(texts.back()), port.text));
    } while (accept(","));
  }
  expect("]", "a text");
  of_ports.back() = std::make_shared<const std::vector<std::string>>(std::move(texts));
}

void Parser::parse_targets() {
  targets_.clear();
  do {
    targets_.push_back(take_name("a statement, `name = ...` or `return ...`"));
    check_undefined(targets_.back());
  } while (accept(","));
}

void Parser::parse_statement() {
  parse_targets();
  if (token_.is("(")) {
    fail(token_.location,
         fmt::format("the result of `{0}` needs a name: `y = {0}(...)`", targets_.back().text));
  }
  expect("=", "the name of a result");
  if (targets_.size() == 1) {
    define(targets_[0], parse_expression());
  } else {
    const Token op = token_;
    if (op.kind != TokenKind::Name) fail_expected("an operator with several results");
    take();
    const std::vector<ValueId> results = parse_call(op, targets_.size());
    for (std::size_t i = 0; i < results.size(); ++i) define(targets_[i], results[i]);
  }
  expect_line_end("the statement");
}

void Parser::parse_return(SourceLocation location) {
  do {
    const std::size_t index = module_.outputs.size();
    targets_.clear();
    if (index < module_.output_names.size())
      targets_.push_back({module_.output_names[index], token_.location});
    module_.outputs.push_back(parse_expression());
  } while (accept(","));
  if (module_.outputs.size() != module_.output_names.size()) {
    fail(location, fmt::format("the graph returns {} values, but its signature has {} outputs",
                               module_.outputs.size(), module_.output_names.size()));
  }
  expect_line_end("the return statement");
}

void Parser::run_scalar(const std::vector<ScalarName>& names) {
  for (const ScalarName& name : names) {
    Value value;
    value.kind = name.number ? ValueKind::Constant : ValueKind::Input;
    value.name = name.name;
    value.type.dtype = name.dtype;
    value.constant = name.number.value_or(0);
    value.integer = is_float(name.dtype) ? 0 : static_cast<std::int64_t>(value.constant);
    const ValueId id = add_value(std::move(value));
    names_.emplace(name.name, id);
    if (!name.number)
      module_.inputs.push_back(id);
    else if (name.dtype != DType::boolean)
      open_literals_.push_back(id);
  }
  module_.outputs.push_back(parse_expression());
  module_.output_names.emplace_back("result");
  skip_newlines();
  if (token_.kind != TokenKind::End) fail_expected("the end of the expression");
  finish_module();
}

Module parse(std::string_view text, const std::string& source_name,
             const std::shared_ptr<const CustomOps>& operators) {
  Module module;
  module.source_name = source_name;
  module.source_text = std::make_shared<const SourceText>(std::string(text));
  Parser(module, operators).run();
  return module;
}

Module parse_scalar(std::string_view expression, const std::string& source_name,
                    const std::vector<ScalarName>& names) {
  Module module;
  module.name = "expression";
  module.source_name = source_name;
  module.source_text = std::make_shared<const SourceText>(std::string(expression));
  Parser(module).run_scalar(names);
  return module;
}

}  // namespace dyn::graph
