#include "graph/fusion/fusion_graph.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "dyn/error.hpp"
#include "graph/ops/scalar_ops.hpp"

namespace dyn::graph {
namespace {

/// Operators that every reader computes anew rather than reads.
constexpr int most_free_work = 16;

/// Late ones wait for all that is ready: what a later fusion may want to read is then there in
/// time.
int lateness(const Node& node) {
  switch (node.op->op_class) {
    case OpClass::Contraction:
    case OpClass::Attention: return 2;
    case OpClass::Reduction: return 1;
    default: return 0;
  }
}

}  // namespace

FusionGraph::FusionGraph(const Module& module)
    : module_(module),
      live_(module.nodes.size(), false),
      free_(module.nodes.size(), false),
      output_(module.values.size(), false),
      in_state_(module.values.size(), false),
      position_(module.nodes.size(), -1),
      group_of_(module.nodes.size(), no_group),
      anchor_(module.nodes.size(), -1),
      readers_(module.values.size()) {
  for (std::size_t i = 0; i < module.values.size(); ++i) root_.push_back(static_cast<ValueId>(i));
  for (const Node& node : module.nodes) {
    if (node.op->op_class == OpClass::Compound) {
      throw Error(ErrorKind::internal, "fuse: " + node.op->name + " has not been decomposed");
    }
    if (node.op->op_class == OpClass::View) {
      const auto result = static_cast<std::size_t>(node.outputs[0]);
      root_[result] = root(viewed(node));
      in_state_[result] = node.op->id == OpId::Append || in_state(viewed(node));
    }
  }
  for (const ValueId id : module.outputs) output_[static_cast<std::size_t>(root(id))] = true;
  find_live();
  find_positions();
  find_readers();
  find_free();
}

bool FusionGraph::expensive(int id) const {
  const ScalarOpInfo* op = node(id).op->scalar;
  return op != nullptr && op->instructions >= function_instructions;
}

void FusionGraph::assign(int id, int group, int anchor) {
  group_of_[static_cast<std::size_t>(id)] = group;
  anchor_[static_cast<std::size_t>(id)] = anchor;
}

int FusionGraph::time_of(int id) const {
  return group_of(id) == no_group ? position(id) : anchor_[static_cast<std::size_t>(id)];
}

int FusionGraph::available(ValueId root) const {
  const int producer = module_.value(root).producer;
  return producer < 0 || free(producer) ? start_of_time : time_of(producer);
}

void FusionGraph::find_live() {
  const auto use = [&](ValueId id) {
    if (module_.value(id).producer >= 0)
      live_[static_cast<std::size_t>(module_.value(id).producer)] = true;
  };
  for (const ValueId id : module_.outputs) use(id);
  for (std::size_t i = module_.nodes.size(); i-- > 0;) {
    if (!live_[i]) continue;
    for (const ValueId input : module_.nodes[i].inputs) use(input);
  }
}

void FusionGraph::find_positions() {
  std::vector<std::vector<int>> dependents(module_.nodes.size());
  std::vector<int> missing(module_.nodes.size(), 0);
  using Entry = std::pair<int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto count = static_cast<int>(module_.nodes.size());
  for (int i = 0; i < count; ++i) {
    for (const ValueId input : node(i).inputs) {
      const int producer = module_.value(input).producer;
      if (producer < 0) continue;
      dependents[static_cast<std::size_t>(producer)].push_back(i);
      ++missing[static_cast<std::size_t>(i)];
    }
    if (missing[static_cast<std::size_t>(i)] == 0) ready.emplace(lateness(node(i)), i);
  }
  for (int next = 0; !ready.empty(); ++next) {
    const int id = ready.top().second;
    ready.pop();
    position_[static_cast<std::size_t>(id)] = next;
    if (live(id) && !is_view(id)) order_.push_back(id);
    for (const int dependent : dependents[static_cast<std::size_t>(id)]) {
      if (--missing[static_cast<std::size_t>(dependent)] == 0)
        ready.emplace(lateness(node(dependent)), dependent);
    }
  }
}

void FusionGraph::find_readers() {
  for (const int id : order_) {
    for (std::size_t k = 0; k < node(id).inputs.size(); ++k) {
      readers_[static_cast<std::size_t>(root(node(id).inputs[k]))].push_back(
          {id, static_cast<int>(k)});
    }
  }
}

bool FusionGraph::must_be_stored(ValueId value) const {
  if (is_output(value)) return true;
  return std::ranges::any_of(readers(value), [&](const Edge& edge) {
    return reads_memory(module_, node(edge.node), static_cast<std::size_t>(edge.input));
  });
}

bool FusionGraph::reads_only_free(const Node& node) const {
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
    const int producer = root_producer(input);
    return producer >= 0 ? free(producer) : module_.value(root(input)).kind == ValueKind::Constant;
  });
}

void FusionGraph::find_free() {
  // A reshape that no affine function follows needs its input in memory, as does an append.
  std::vector<bool> unfollowed(module_.values.size(), false);
  for (const Node& view : module_.nodes) {
    if (view.op->id == OpId::Append)
      unfollowed[static_cast<std::size_t>(root(viewed(view)))] = true;
    if (view.op->id != OpId::Reshape) continue;
    for (const ReshapeBlock& block : reshape_blocks(dims(view.inputs[0]), dims(view.outputs[0]))) {
      if (block.from.size() > 1 && !block.to.empty())
        unfollowed[static_cast<std::size_t>(root(view.inputs[0]))] = true;
    }
  }
  std::map<int, int> work;  // of free nodes, with that of the free nodes that they read
  for (const int id : order_) {
    const Node& candidate = node(id);
    const bool cheap =
        candidate.op->id == OpId::Range || (candidate.op->op_class == OpClass::Elementwise &&
                                            !expensive(id) && reads_only_free(candidate));
    if (!cheap || must_be_stored(candidate.outputs[0]) ||
        unfollowed[static_cast<std::size_t>(candidate.outputs[0])])
      continue;
    int own = 1;
    for (const ValueId input : candidate.inputs) {
      const auto known = work.find(root_producer(input));
      if (known != work.end()) own += known->second;
    }
    if (own > most_free_work) continue;
    work.emplace(id, own);
    free_[static_cast<std::size_t>(id)] = true;
  }
}

}  // namespace dyn::graph
