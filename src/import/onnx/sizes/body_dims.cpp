#include "src/import/onnx/sizes/body_dims.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graph/text/lexer.hpp"

namespace dyn::onnx {
namespace {

using graph::Dim;
using graph::DimOp;

bool is_atom(Dim dim) { return dim.symbol() || dim.node()->op == DimOp::Named; }

/// The expression with other atoms, in their table; nothing where one of them has no counterpart.
/// Expressions are small: larger ones are atoms.
template <class Atom>
std::optional<Dim> rebuilt(Dim dim, graph::DimTable& table, const Atom& atom) {
  if (const auto constant = dim.constant()) return table.constant(*constant);
  if (is_atom(dim)) return atom(dim);
  std::optional<Dim> result;
  for (const Dim operand : dim.node()->operands) {
    const std::optional<Dim> next = rebuilt(operand, table, atom);
    if (!next) return std::nullopt;
    if (!result) {
      result = next;
      continue;
    }
    switch (dim.node()->op) {
      case DimOp::Add: result = table.add(*result, *next); break;
      case DimOp::Mul: result = table.multiply(*result, *next); break;
      case DimOp::FloorDiv: result = table.floordiv(*result, *next); break;
      case DimOp::Mod: result = table.mod(*result, *next); break;
      case DimOp::Min: result = table.minimum(*result, *next); break;
      case DimOp::Max: result = table.maximum(*result, *next); break;
      default: return std::nullopt;
    }
  }
  return result;
}

}  // namespace

Dim BodyDims::new_symbol(graph::SymbolInfo info) {
  const bool is_named =
      !info.name.empty() && info.name.front() != '_' && graph::can_name_dim(info.name);
  const std::string hint = is_named ? info.name : "size";
  info.name = hint;
  for (int number = 2; body_.dims().find_symbol(info.name); ++number)
    info.name = fmt::format("{}_{}", hint, number);
  info.defined = false;
  return body_.symbol(std::move(info));
}

Dim BodyDims::varying() { return new_symbol({}); }

Dim BodyDims::symbol_for(Dim outside) {
  const auto known = by_outside_.find(outside.node());
  if (known != by_outside_.end()) return pairs_[known->second].in_body;
  graph::SymbolInfo info;
  if (outside.symbol()) {
    info = outside.table().info(*outside.symbol());
  } else {
    const graph::Interval bounds = graph::bounds(outside);
    info.low = std::max<std::int64_t>(bounds.low, 0);
    info.high = std::max(bounds.high, info.low);
  }
  const Dim symbol = new_symbol(std::move(info));
  by_outside_.emplace(outside.node(), pairs_.size());
  by_symbol_.emplace(*symbol.symbol(), pairs_.size());
  pairs_.push_back({outside, symbol, false});
  return symbol;
}

Dim BodyDims::of_port(Dim outside) {
  outside = outside_.resolve(outside);
  if (const auto constant = outside.constant()) return body_.dims().constant(*constant);
  const Dim symbol = symbol_for(outside);
  pairs_[by_outside_.at(outside.node())].has_port = true;
  return symbol;
}

Dim BodyDims::of_size(Dim outside) {
  outside = outside_.resolve(outside);
  if (by_outside_.contains(outside.node())) return symbol_for(outside);
  return *rebuilt(outside, body_.dims(), [&](Dim atom) { return std::optional(symbol_for(atom)); });
}

std::vector<Dim> BodyDims::without_port() const {
  std::vector<Dim> dims;
  for (const Pair& pair : pairs_)
    if (!pair.has_port) dims.push_back(pair.outside);
  return dims;
}

std::optional<Dim> BodyDims::outside_of(Dim in_body) const {
  const auto outside = [&](Dim atom) -> std::optional<Dim> {
    const auto found = atom.symbol() ? by_symbol_.find(*atom.symbol()) : by_symbol_.end();
    return found == by_symbol_.end()
               ? std::nullopt
               : std::optional(outside_.resolve(pairs_[found->second].outside));
  };
  return rebuilt(in_body, outside_.dims(), outside);
}

}  // namespace dyn::onnx
