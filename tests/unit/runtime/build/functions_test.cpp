// include/dyn/functions.hpp: a function for each operator, made from the registry.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dyn/functions.hpp"
#include "graph/ir/op.hpp"
#include "tests/support/generated_page.hpp"

using namespace dyn;

namespace {

constexpr std::size_t columns = 100;

/// Words that C++ has itself, or that the functions of a header call their arguments.
std::string function_name(const std::string& op) {
  constexpr std::array reserved = {"if"};
  return std::ranges::find(reserved, op) == reserved.end() ? op : op + "_";
}

/// The text in lines of at most 100 columns.
std::string comment(const std::string& text) {
  std::string comment, line = "///";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > columns) {
      comment += line + "\n";
      line = "///";
    }
    line += " " + word;
    at = end + 1;
  }
  return comment + line + "\n";
}

std::string function(const graph::OpDef& op) {
  constexpr int most_named = 4;
  std::string parameters, inputs;
  if (op.min_inputs == op.max_inputs && op.min_inputs > 0 && op.min_inputs <= most_named) {
    for (int i = 0; i < op.min_inputs; ++i) {
      const char name = static_cast<char>('a' + i);
      parameters += fmt::format("{}const Value& {}", i > 0 ? ", " : "", name);
      inputs += fmt::format("{}{}", i > 0 ? ", " : "{", name);
    }
    inputs += "}";
  } else {
    parameters = "const Values& inputs";
    inputs = "inputs";
  }
  const bool has_required =
      std::ranges::any_of(op.attrs, [](const graph::AttrDef& attr) { return !attr.default_text; });
  if (op.outputs < 0) parameters += ", std::size_t results";
  std::string call = op.outputs == 1 ? "op" : "ops";
  call += fmt::format("(\"{}\", {}", op.name, inputs);
  if (!op.attrs.empty()) call += ", attributes";
  if (op.outputs < 0) call += op.attrs.empty() ? ", {}, results" : ", results";
  std::string names;
  for (const graph::AttrDef& attr : op.attrs)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", attr.name,
                         attr.default_text ? "" : " (required)");
  const auto declaration = [&](const char* separator) {
    std::string text = parameters;
    if (!op.attrs.empty())
      text +=
          fmt::format("{}const Attributes& attributes{}", separator, has_required ? "" : " = {}");
    return fmt::format("inline {} {}({}) {{\n", op.outputs == 1 ? "Value" : "Values",
                       function_name(op.name), text);
  };
  std::string begin = declaration(", ");
  if (begin.size() > columns + 1) begin = declaration(",\n    ");
  return comment(op.summary + (names.empty() ? "" : " Attributes: " + names + ".")) + begin +
         fmt::format("  return {});\n}}\n", call);
}

}  // namespace

TEST_CASE("a function of the public header for each operator of the registry") {
  std::string functions;
  for (const graph::OpDef& op : graph::all_ops()) functions += function(op);
  testing::check_generated(DYN_SOURCE_DIR "/include/dyn/functions.hpp", "// clang-format off\n",
                           "// clang-format on\n", functions);
}
