#include "graph/text/attribute_text.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace dyn::graph {
namespace {

struct FormatValue {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const { return format_number(value); }
  std::string operator()(const std::string& word) const { return word; }
  std::string operator()(Dim dim) const {
    const bool simple = dim.constant() || dim.symbol();
    return simple ? to_string(dim) : "(" + to_string(dim) + ")";
  }
  std::string operator()(const std::vector<Dim>& dims) const {
    return to_string(std::span<const Dim>(dims));
  }
  std::string operator()(NeverHeld) const { return {}; }
};

bool is_default(const AttrDef& def, const std::string& shown) {
  if (!def.default_text) return false;
  if (def.kind != AttrKind::Float) return shown == *def.default_text;
  double number = 0;
  std::from_chars(def.default_text->data(), def.default_text->data() + def.default_text->size(),
                  number);
  return shown == format_number(number);
}

}  // namespace

std::string format_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const std::to_chars_result result = std::to_chars(std::begin(buffer), std::end(buffer), value);
  std::string text(buffer, result.ptr);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos)
    return text.find('.') == std::string::npos ? text + ".0" : text;
  std::size_t digits = exponent + 1;  // "1e-05" is written "1e-5"
  if (text[digits] == '-') ++digits;
  while (text[digits] == '+' || (text[digits] == '0' && digits + 1 < text.size()))
    text.erase(digits, 1);
  return text;
}

std::string format_attributes(const Node& node) {
  std::string text;
  for (const AttrDef& def : node.op->attrs) {
    const AttrValue* value = node.find_attr(def.name);
    if (value == nullptr) continue;
    const std::string shown = std::visit(FormatValue{}, *value);
    if (!is_default(def, shown)) text += fmt::format(" {}={}", def.name, shown);
  }
  return text;
}

}  // namespace dyn::graph
