#include "graph/ops/state_rules.hpp"

#include <fmt/format.h>

#include "graph/ir/diagnostic.hpp"

namespace dyn::graph {
namespace {

/// The one consumer of each state; -1: none.
std::vector<int> consumers_of(const Module& module) {
  std::vector<int> consumers(module.values.size(), -1);
  for (std::size_t i = 0; i < module.nodes.size(); ++i) {
    const Node& node = module.nodes[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Value& value = module.value(node.inputs[k]);
      if (value.kind != ValueKind::State) continue;
      if (!is_append(node) || k != 0) {
        fail_at(
            module, node.location,
            fmt::format(
                "`{}` reads the state `{}`; only `append` takes a state: read the append's result",
                node.op->name, value.name));
      }
      int& consumer = consumers[static_cast<std::size_t>(node.inputs[k])];
      if (consumer >= 0) {
        fail_at(module, node.location,
                fmt::format("the state `{}` is consumed twice, first in line {}; what is appended "
                            "in one run goes into one `append`",
                            value.name,
                            module.nodes[static_cast<std::size_t>(consumer)].location.line));
      }
      consumer = static_cast<int>(i);
    }
  }
  return consumers;
}

Dim positions(const Module& module, const Node& append) {
  const TensorType& type = module.value(append.inputs[1]).type;
  return type
      .dims[static_cast<std::size_t>(*normalize_axis(attr_integer(append, "axis"), type.rank()))];
}

/// The first append at a symbol tells the length; every other append is compared with it.
void add_append(Module& module, const Node& append, const Node*& first) {
  const std::optional<int> symbol = length_symbol(append);
  if (!symbol) return;
  const Dim at = attr_dim(module, append, "at"), growth = positions(module, append);
  if (first == nullptr) {
    first = &append;
    module.length = at;
    module.growth = growth;
    const SymbolInfo& info = module.dims->info(*symbol);
    for (const ValueId id : module.states) {
      for (const Dim dim : module.value(id).type.dims) {
        if (dim == at) {
          fail_at(module, append.location,
                  fmt::format("append: at is {}, a dim of the state {}; the session's length needs "
                              "a dim of its own",
                              info.name, module.value(id).name));
        }
      }
    }
    if (info.low > 0) {
      fail_at(module, append.location,
              fmt::format("append: at is the length of a session, which begins with 0, but dim {} "
                          "is at least {}",
                          info.name, info.low));
    }
    return;
  }
  if (at != module.length) {
    fail_at(module, append.location,
            fmt::format("append: at is {}, but {} in line {}; a session has one length",
                        to_string(at), to_string(module.length), first->location.line));
  }
  if (prove_equal(growth, module.growth) != true) {
    fail_at(module, append.location,
            fmt::format("append: {} positions are added to the length, but {} in line {}",
                        to_string(growth), to_string(module.growth), first->location.line));
  }
}

}  // namespace

bool is_append(const Node& node) { return node.op->id == OpId::Append; }

std::optional<int> length_symbol(const Node& append) {
  const AttrValue* at = append.find_attr("at");
  const Dim* dim = at ? std::get_if<Dim>(at) : nullptr;
  return dim ? dim->symbol() : std::nullopt;
}

void verify_states(const Module& module) {
  consumers_of(module);
  for (const Node& node : module.nodes) {
    if (!is_append(node) || module.value(node.inputs[0]).kind == ValueKind::State) continue;
    fail_at(module, node.location,
            fmt::format("append: its first argument is a state, as `state NAME: TYPE` declares it, "
                        "but `{}` is none",
                        module.value(node.inputs[0]).name));
  }
  for (const ValueId id : module.outputs) {
    const Value& value = module.value(id);
    if (value.kind == ValueKind::State) {
      fail_at(module, value.location,
              fmt::format("the state `{}` cannot be an output; return what `append` makes of it",
                          value.name));
    }
  }
}

void find_length(Module& module) {
  const std::vector<int> consumers = consumers_of(module);
  for (const ValueId id : module.states) {
    const Value& value = module.value(id);
    if (consumers[static_cast<std::size_t>(id)] >= 0) continue;
    fail_at(module, value.location,
            fmt::format("nothing is appended to the state `{}`", value.name));
  }
  const Node* first = nullptr;
  for (const Node& node : module.nodes) {
    if (is_append(node)) add_append(module, node, first);
  }
}

std::vector<AppendedState> appended_states(const Module& module) {
  std::vector<AppendedState> states;
  const std::vector<int> consumers = consumers_of(module);
  for (const ValueId id : module.states) {
    AppendedState& state = states.emplace_back();
    state.state = id;
    const int consumer = consumers[static_cast<std::size_t>(id)];
    if (consumer < 0) continue;
    const Node& append = module.nodes[static_cast<std::size_t>(consumer)];
    state.axis = *normalize_axis(attr_integer(append, "axis"), module.value(id).type.rank());
    state.at_length = module.length.valid() && attr_dim(module, append, "at") == module.length;
  }
  return states;
}

}  // namespace dyn::graph
