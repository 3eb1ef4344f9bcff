// Evaluation of dims.

#include <unordered_map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/dims/checked.hpp"
#include "graph/dims/dim.hpp"

namespace dyn::graph {

namespace {

[[noreturn]] void fail(Dim dim, const char* what) {
  throw Error(ErrorKind::user,
              fmt::format("the dim {} {}; use smaller sizes", to_string(dim), what));
}

__extension__ typedef __int128 Wide;

/// The value of one node. `operand(i)` gives the value of operand i of `count`.
template <class Operand>
std::int64_t apply(DimOp op, std::size_t count, Dim dim, const Operand& operand) {
  switch (op) {
    case DimOp::Add: {
      // 128 bits: terms of either sign may pass the range before their sum is back in it.
      Wide sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += operand(i);
      if (sum < int64_min || sum > int64_max) fail(dim, "overflows 63 bits");
      return static_cast<std::int64_t>(sum);
    }
    case DimOp::Mul: {
      for (std::size_t i = 0; i < count; ++i)
        if (operand(i) == 0) return 0;
      std::int64_t product = 1;
      for (std::size_t i = 0; i < count; ++i)
        if (__builtin_mul_overflow(product, operand(i), &product)) fail(dim, "overflows 63 bits");
      return product;
    }
    case DimOp::FloorDiv:
    case DimOp::Mod:
      if (operand(1) == 0) fail(dim, "divides by zero");
      if (op == DimOp::Mod) return floor_modulo(operand(0), operand(1));
      if (operand(0) == int64_min && operand(1) == -1) fail(dim, "overflows 63 bits");
      return floor_divide(operand(0), operand(1));
    case DimOp::Min: return std::min(operand(0), operand(1));
    case DimOp::Max: return std::max(operand(0), operand(1));
    case DimOp::Named: return operand(0);
    case DimOp::Constant:
    case DimOp::Symbol: break;
  }
  return 0;
}

/// The values of named dims by their nodes.
using Names = std::unordered_map<const DimNode*, std::int64_t>;

std::int64_t value_of(Dim dim, std::span<const std::int64_t> symbols, const Names& names) {
  const DimNode& node = *dim.node();
  if (node.op == DimOp::Constant) return node.value;
  if (node.op == DimOp::Symbol) return symbols[static_cast<std::size_t>(node.value)];
  if (node.op == DimOp::Named) return names.at(&node);
  std::vector<std::int64_t> values;
  for (Dim operand : node.operands) values.push_back(value_of(operand, symbols, names));
  return apply(node.op, values.size(), dim, [&](std::size_t i) { return values[i]; });
}

}  // namespace

std::int64_t evaluate(Dim dim, std::span<const std::int64_t> symbols) {
  Names names;
  for (const Dim named : named_parts(dim))
    names[named.node()] = value_of(named.node()->operands[0], symbols, names);
  return value_of(dim, symbols, names);
}

int DimProgram::slot(Dim dim) {
  // Each finds those before it there, so that no expression is walked beyond them.
  for (const Dim named : named_parts(dim)) slot_of(named);
  return slot_of(dim);
}

int DimProgram::slot_of(Dim dim) {
  const DimNode& node = *dim.node();
  const auto id = static_cast<std::size_t>(node.id);
  if (id >= slot_of_node_.size()) slot_of_node_.resize(id + 1, -1);
  if (slot_of_node_[id] >= 0) return slot_of_node_[id];
  std::vector<int> operands;
  for (Dim operand : node.operands) operands.push_back(slot_of(operand));
  steps_.push_back({node.op, node.value, std::move(operands), dim});
  return slot_of_node_[id] = static_cast<int>(steps_.size()) - 1;
}

void DimProgram::run(std::span<const std::int64_t> symbols, std::span<std::int64_t> values) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.op == DimOp::Constant)
      values[i] = step.value;
    else if (step.op == DimOp::Symbol)
      values[i] = symbols[static_cast<std::size_t>(step.value)];
    else
      values[i] = apply(step.op, step.operands.size(), step.dim, [&](std::size_t k) {
        return values[static_cast<std::size_t>(step.operands[k])];
      });
  }
}

}  // namespace dyn::graph
