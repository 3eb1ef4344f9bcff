// Attributes: `name=value` after a call, with the kind that the registry says.

#include <algorithm>

#include <fmt/format.h>

#include "graph/text/parser.hpp"
#include "graph/text/suggest.hpp"

namespace dyn::graph {

void Parser::parse_attributes(Node& node) {
  while (token_.kind == TokenKind::Name) {
    const Token name = take();
    if (name.is_word("offsets")) {
      fail_unsupported(name.location,
                       fmt::format("{} is not supported by this library", describe(name)));
    }
    if (!token_.is("=")) fail_expected(fmt::format("`=` after the attribute {}", describe(name)));
    const AttrDef* def = node.op->find_attr(name.text);
    if (def == nullptr) fail(name.location, unknown_attribute(*node.op, name.text, describe(name)));
    if (node.find_attr(name.text) != nullptr) {
      fail(name.location, fmt::format("the attribute {} is given twice", describe(name)));
    }
    take();
    node.attrs.push_back({def->name, parse_attribute_value(*def)});
  }
}

AttrValue Parser::parse_attribute_value(const AttrDef& def) {
  const std::string owner = fmt::format("the attribute `{}`", def.name);
  switch (def.kind) {
    case AttrKind::Boolean: {
      if (!token_.is_word("true") && !token_.is_word("false"))
        fail_expected("`true` or `false` for " + owner);
      return take().text == "true";
    }
    case AttrKind::Float: return take_number("a number for " + owner);
    case AttrKind::Word: return std::string(take_word("a word for " + owner));
    case AttrKind::Integer: return module_.dims->constant(take_integer("an integer for " + owner));
    case AttrKind::Dim: {
      const bool simple = token_.kind == TokenKind::Integer || token_.kind == TokenKind::Name ||
                          token_.is("-") || token_.is("(");
      if (!simple)
        fail_expected("a dim for " + owner +
                      ": an integer, a name or an expression in parentheses");
      dim_operators_ = 0;
      return parse_dim_factor();
    }
    case AttrKind::IntegerList:
    case AttrKind::DimList: break;
  }
  if (!token_.is("[")) fail_expected("a list, `[...]`, for " + owner);
  take();
  std::vector<Dim> list;
  if (!token_.is("]")) {
    do {
      list.push_back(def.kind == AttrKind::DimList
                         ? parse_dim()
                         : module_.dims->constant(take_integer("an integer in " + owner)));
    } while (accept(","));
  }
  expect("]", "an element of " + owner);
  return list;
}

}  // namespace dyn::graph
