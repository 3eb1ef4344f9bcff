// The operator chapter of docs/ir.md, from the registry.

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"

namespace dyn::graph {
namespace {

std::string_view name_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::Elementwise: return "element-wise";
    case OpClass::Reduction: return "reduction";
    case OpClass::Contraction: return "contraction";
    case OpClass::Attention: return "attention";
    case OpClass::Recurrence: return "recurrence";
    case OpClass::View: return "view";
    case OpClass::Indexed: return "indexed";
    case OpClass::Host: return "host";
    case OpClass::Compound: return "compound";
  }
  return "";
}

std::string_view name_of(AttrKind kind) {
  switch (kind) {
    case AttrKind::Boolean: return "`true` or `false`";
    case AttrKind::Float: return "number";
    case AttrKind::Word: return "word";
    case AttrKind::Integer: return "integer";
    case AttrKind::Dim: return "dim";
    case AttrKind::IntegerList: return "list of integers";
    case AttrKind::DimList: return "list of dims";
  }
  return "";
}

std::string count(int low, int high, std::string_view noun) {
  const std::string_view plural = low == high && low == 1 ? "" : "s";
  if (high < 0) return fmt::format("{} or more {}s", low, noun);
  return low == high ? fmt::format("{} {}{}", low, noun, plural)
                     : fmt::format("{} to {} {}s", low, high, noun);
}

std::string describe(const OpDef& op) {
  const std::string results =
      op.outputs < 0 ? "any number of results" : count(op.outputs, op.outputs, "result");
  std::string text =
      fmt::format("### `{}`\n\n{}\n\n- Class: {}; {}, {}.\n", op.name, op.summary,
                  name_of(op.op_class), count(op.min_inputs, op.max_inputs, "input"), results);
  if (!op.shapes.empty()) text += fmt::format("- Shapes: {}\n", op.shapes);
  if (!op.dtypes.empty()) text += fmt::format("- Dtypes: {}\n", op.dtypes);
  if (!op.errors.empty()) text += fmt::format("- Errors: {}\n", op.errors);
  if (op.attrs.empty()) return text + "\n";
  text += "\n| attribute | value | default | meaning |\n|---|---|---|---|\n";
  for (const AttrDef& attr : op.attrs) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", attr.name, name_of(attr.kind),
                        attr.default_text ? fmt::format("`{}`", *attr.default_text) : "required",
                        attr.doc);
  }
  return text + "\n";
}

}  // namespace

std::string operator_reference() {
  std::string text = "The operators, by name:\n\n";
  for (const OpDef& op : all_ops()) text += fmt::format("[`{0}`](#{0})\n", op.name);
  text += '\n';
  for (const OpDef& op : all_ops()) text += describe(op);
  return text;
}

}  // namespace dyn::graph
