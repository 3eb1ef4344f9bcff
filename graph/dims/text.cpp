// Dims as text that the IR's parser reads back.

#include <algorithm>

#include <fmt/format.h>

#include "graph/dims/checked.hpp"
#include "graph/dims/dim.hpp"
#include "graph/dims/polynomial.hpp"

namespace dyn::graph {

namespace {

std::string atom_text(Dim atom) {
  const DimNode& node = *atom.node();
  const auto call = [&](const char* name) {
    return fmt::format("{}({}, {})", name, to_string(node.operands[0]),
                       to_string(node.operands[1]));
  };
  switch (node.op) {
    case DimOp::Symbol: return atom.table().info(static_cast<int>(node.value)).name;
    case DimOp::Named: return atom.table().name_of(atom);
    case DimOp::FloorDiv: return call("floordiv");
    case DimOp::Mod: return call("mod");
    case DimOp::Min: return call("min");
    case DimOp::Max: return call("max");
    default: return to_string(atom);
  }
}

/// True where the term is subtracted. The least integer has no opposite, and keeps its sign.
bool is_negative(const Term& term) { return term.coefficient < 0 && term.coefficient != int64_min; }

/// The term without that sign: "B * S * 768".
std::string term_text(const Term& term) {
  std::string text;
  for (Dim atom : term.atoms) text += (text.empty() ? "" : " * ") + atom_text(atom);
  const std::string coefficient =
      fmt::format("{}", term.coefficient).substr(is_negative(term) ? 1 : 0);
  if (term.atoms.empty()) return coefficient;
  return coefficient == "1" ? text : text + " * " + coefficient;
}

}  // namespace

std::string to_string(Dim dim) {
  if (!dim.valid()) return "_";
  if (const auto constant = dim.constant()) return fmt::format("{}", *constant);
  Polynomial sum = to_polynomial(dim);
  // A term without a minus sign comes first, so that the text needs no unary minus.
  const auto positive =
      std::ranges::find_if(sum, [](const Term& term) { return term.coefficient > 0; });
  if (positive != sum.end()) std::rotate(sum.begin(), positive, positive + 1);
  std::string text = positive == sum.end() ? "0" : "";
  for (const Term& term : sum) {
    if (!text.empty()) text += is_negative(term) ? " - " : " + ";
    text += term_text(term);
  }
  return text;
}

std::string to_string(std::span<const Dim> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? ", " : "") + to_string(dims[i]);
  return text + "]";
}

}  // namespace dyn::graph
