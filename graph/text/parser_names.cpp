// Values, the names that stand for them, and weights.

#include <fmt/format.h>

#include "graph/text/parser.hpp"
#include "graph/text/suggest.hpp"

namespace dyn::graph {
namespace {

std::string clip(const std::string& name) {
  constexpr std::size_t shown = 80;
  return name.size() <= shown ? name : name.substr(0, shown) + "...";
}

bool same_type(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.dims == b.dims;
}

}  // namespace

ValueId Parser::add_value(Value value) {
  const ValueId id = static_cast<ValueId>(module_.values.size());
  // `%` begins no name of the text.
  if (value.kind == ValueKind::Constant) value.name = fmt::format("%{}", id);
  module_.values.push_back(std::move(value));
  return id;
}

void Parser::check_undefined(const Name& name) const {
  if (name.text.empty()) fail(name.location, "a name cannot be empty");
  const auto known = names_.find(name.text);
  if (known == names_.end()) return;
  const Value& value = module_.value(known->second);
  const std::string first = fmt::format("line {}", value.location.line);
  if (value.kind == ValueKind::Weight) {
    fail(name.location, fmt::format("`{}` is a weight already, see {}; take another name",
                                    clip(name.text), first));
  }
  fail(name.location, fmt::format("`{}` is defined twice, first in {}", clip(name.text), first));
}

void Parser::define(const Name& name, ValueId id) {
  check_undefined(name);
  Value& value = module_.value(id);
  if (value.kind == ValueKind::Result && value.name.empty()) {
    value.name = name.text;
    value.location = name.location;
  }
  names_.emplace(name.text, id);
}

ValueId Parser::declare_weight(const Name& name, TensorType type, WeightSource source) {
  if (name.text.empty()) fail(name.location, "a name cannot be empty");
  const auto known = names_.find(name.text);
  if (known == names_.end()) {
    Value value;
    value.name = name.text;
    value.kind = ValueKind::Weight;
    value.type = std::move(type);
    value.weight = source;
    value.location = name.location;
    const ValueId id = add_value(std::move(value));
    names_.emplace(name.text, id);
    return id;
  }
  const Value& first = module_.value(known->second);
  if (first.kind != ValueKind::Weight || first.name != name.text) {
    fail(name.location,
         fmt::format("`{}` is {}, see line {}; a weight needs another name", clip(name.text),
                     first.kind == ValueKind::Input   ? "an input"
                     : first.kind == ValueKind::State ? "a state"
                                                      : "a value",
                     first.location.line));
  }
  if (source.kind != WeightSource::Kind::File) {
    fail(name.location, fmt::format("the weight `{}` is defined twice, first in line {}",
                                    clip(name.text), first.location.line));
  }
  if (!same_type(first.type, type)) {
    fail(name.location,
         fmt::format("the weight `{}` is {} here, but {} in line {}", clip(name.text),
                     to_string(type), to_string(first.type), first.location.line));
  }
  return known->second;
}

void Parser::fail_unknown_name(const Name& name) {
  for (const Name& target : targets_) {
    if (target.text == name.text) {
      fail(name.location,
           fmt::format("`{}` is used in its own definition, a cycle", clip(name.text)));
    }
  }
  if (const std::optional<int> line = find_later_definition(name.text)) {
    fail(name.location,
         fmt::format("`{}` is used before line {} defines it; statements stand in the order of the "
                     "computation, and where there is none the graph has a cycle",
                     clip(name.text), *line));
  }
  std::vector<std::string_view> known;
  for (const auto& [text, id] : names_) known.push_back(text);
  fail(name.location,
       fmt::format(
           "`{0}` is neither a value nor a weight known here{1}; the first use of a weight gives "
           "its type: `{0}: f32[...]`",
           clip(name.text), did_you_mean(name.text, known)));
}

std::optional<int> Parser::find_later_definition(const std::string& name) {
  try {
    while (token_.kind != TokenKind::End) {
      while (token_.kind != TokenKind::Newline && token_.kind != TokenKind::End) take();
      skip_newlines();
      std::optional<int> found;
      while (token_.kind == TokenKind::Name || token_.kind == TokenKind::String) {
        const Token token = take();
        if ((token.kind == TokenKind::String ? unquote(token) : token.text) == name)
          found = token.location.line;
        accept(",");
      }
      if (found && token_.is("=")) return found;
    }
  } catch (const Error&) {
    // A lexing error further down is not the error that the caller reports.
  }
  return std::nullopt;
}

void Parser::name_anonymous_values() {
  std::unordered_map<std::string, int> uses;
  for (const auto& [id, base] : anonymous_) {
    Value& value = module_.value(id);
    if (!value.name.empty()) continue;
    int& count = uses[base];
    do {
      ++count;
      value.name = count == 1 ? base : fmt::format("{}_{}", base, count);
    } while (!names_.emplace(value.name, id).second);
  }
}

}  // namespace dyn::graph
