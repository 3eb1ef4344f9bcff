// src/python/dyn/functions.py: a function for each operator, made from the registry.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "tests/support/generated_page.hpp"

using namespace dyn;

namespace {

/// Words that Python has itself.
std::string python_name(const std::string& op) {
  constexpr std::array reserved = {"if"};
  return std::ranges::find(reserved, op) == reserved.end() ? op : op + "_";
}

std::string python_type(const graph::AttrDef& attr) {
  switch (attr.kind) {
    case graph::AttrKind::Boolean: return "bool";
    case graph::AttrKind::Float: return "float";
    case graph::AttrKind::Word: return attr.name == "dtype" ? "object" : "str";
    case graph::AttrKind::Integer: return "int";
    case graph::AttrKind::Dim: return "Size";
    case graph::AttrKind::IntegerList: return "Sequence[int]";
    case graph::AttrKind::DimList: return "Sequence[Size]";
  }
  return "object";
}

/// The default of an attribute as Python writes it.
std::string python_default(const graph::AttrDef& attr) {
  const std::string& text = *attr.default_text;
  switch (attr.kind) {
    case graph::AttrKind::Boolean: return text == "true" ? "True" : "False";
    case graph::AttrKind::Word: return fmt::format("\"{}\"", text);
    case graph::AttrKind::IntegerList:
    case graph::AttrKind::DimList: {
      const std::string elements = text.substr(1, text.size() - 2);
      return elements.empty() ? "()" : "(" + elements + ",)";
    }
    default: return text;
  }
}

constexpr std::size_t most_columns = 160;

/// The words in lines, each after `indent`.
std::string python_lines(const std::string& text, const std::string& indent) {
  std::string lines, line = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const bool is_first = line.size() == indent.size();
    if (!is_first && line.size() + 1 + end - at > most_columns) {
      lines += line + "\n";
      line = indent + text.substr(at, end - at);
    } else {
      line += (is_first ? "" : " ") + text.substr(at, end - at);
    }
    at = end + 1;
  }
  return lines + line + "\n";
}

std::string docstring(const std::string& summary) {
  std::string lines = python_lines("\"\"\"" + summary, "    ");
  lines.pop_back();
  return lines + (lines.find('\n') == std::string::npos ? "" : "\n    ") + "\"\"\"\n";
}

/// "`before`(`list`)`after`" in one line, or with the list in lines of its own.
std::string python_call(const std::string& indent, const std::string& before,
                        const std::string& list, const std::string& after) {
  const std::string line = indent + before + "(" + list + ")" + after + "\n";
  if (line.size() <= most_columns + 1) return line;
  return indent + before + "(\n" + python_lines(list, indent + "    ") + indent + ")" + after +
         "\n";
}

std::string python_function(const graph::OpDef& op) {
  constexpr int most_named = 4;
  std::string parameters, arguments = fmt::format("\"{}\"", op.name);
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  const bool is_named =
      op.min_inputs == op.max_inputs && op.min_inputs > 0 && op.min_inputs <= most_named;
  for (int i = 0; is_named && i < op.min_inputs; ++i) {
    const std::string name = op.min_inputs == 1 ? "x" : std::string(1, static_cast<char>('a' + i));
    add(parameters, name + ": Input");
    add(arguments, name);
  }
  if (!is_named) {
    add(parameters, "*inputs: Input");
    add(arguments, "*inputs");
  } else {
    add(parameters, "/");
  }
  if (is_named && (op.outputs < 0 || !op.attrs.empty())) add(parameters, "*");
  if (op.outputs < 0) {
    add(parameters, "results: int");
    add(arguments, "results=results");
  }
  for (const graph::AttrDef& attr : op.attrs) {
    add(parameters, fmt::format("{}: {}{}", attr.name, python_type(attr),
                                attr.default_text ? " = " + python_default(attr) : ""));
    add(arguments, fmt::format("{0}={0}", attr.name));
  }
  const bool has_one = op.outputs == 1;
  return "\n\n" +
         python_call("", "def " + python_name(op.name), parameters,
                     has_one ? " -> Value:" : " -> tuple[Value, ...]:") +
         docstring(op.summary) +
         python_call("    ", has_one ? "return op" : "return ops", arguments, "");
}

}  // namespace

TEST_CASE("a function of the Python package for each operator of the registry") {
  std::string functions;
  for (const graph::OpDef& op : graph::all_ops()) functions += python_function(op);
  testing::check_generated(DYN_SOURCE_DIR "/src/python/dyn/functions.py", "# begin\n", "# end\n",
                           functions + "\n\n");
}
