#include "graph/passes/remove_dead.hpp"

#include <algorithm>

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

std::vector<bool> used_nodes(const Module& module) {
  std::vector<bool> used(module.nodes.size(), false);
  const auto use = [&](ValueId id) {
    if (module.value(id).producer >= 0)
      used[static_cast<std::size_t>(module.value(id).producer)] = true;
  };
  for (const ValueId output : module.outputs) use(output);
  for (std::size_t i = module.nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (const ValueId input : module.nodes[i].inputs) use(input);
  }
  return used;
}

}  // namespace

void remove_dead(Module& module) {
  const std::vector<bool> used = used_nodes(module);
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < module.nodes.size(); ++i) {
    if (used[i]) nodes.push_back(std::move(module.nodes[i]));
  }
  std::vector<bool> referred(module.values.size(), false);
  const auto refer = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) referred[static_cast<std::size_t>(id)] = true;
  };
  refer(module.inputs);
  refer(module.outputs);
  refer(module.states);
  for (const Node& node : nodes) {
    refer(node.inputs);
    refer(node.outputs);
  }
  // A weight of others may be a part of one that stands before or behind it.
  for (bool grows = true; grows;) {
    const auto before = std::ranges::count(referred, true);
    for (std::size_t i = 0; i < module.values.size(); ++i) {
      if (referred[i]) refer(module.values[i].weight.parts);
    }
    grows = std::ranges::count(referred, true) > before;
  }

  std::vector<ValueId> renumbered(module.values.size(), no_value);
  std::vector<Value> values;
  for (std::size_t i = 0; i < module.values.size(); ++i) {
    if (!referred[i]) continue;
    renumbered[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(module.values[i]));
  }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) id = renumbered[static_cast<std::size_t>(id)];
  };
  renumber(module.inputs);
  renumber(module.outputs);
  renumber(module.states);
  for (Node& node : nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
  for (Value& value : values) renumber(value.weight.parts);
  module.values = std::move(values);
  Rewriter rewriter(module);
  for (Node& node : nodes) rewriter.keep(std::move(node));
  rewriter.finish();
}

}  // namespace dyn::graph
