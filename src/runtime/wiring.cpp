#include "src/runtime/wiring.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {
namespace {

using Kind = OperandSource::Kind;
using Sources = std::unordered_map<graph::ValueId, OperandSource>;

Sources port_sources(const graph::Module& module, const graph::Fusion& fusion) {
  Sources sources;
  for (std::size_t i = 0; i < module.inputs.size(); ++i) {
    sources[module.inputs[i]] = {Kind::Input, static_cast<int>(i), nullptr};
  }
  for (std::size_t i = 0; i < module.outputs.size(); ++i) {
    const graph::ValueId base = fusion.views.at(static_cast<std::size_t>(module.outputs[i])).base;
    const bool own = base != graph::no_value && module.value(base).kind == graph::ValueKind::Result;
    if (!own || !sources.emplace(base, OperandSource{Kind::Output, static_cast<int>(i), nullptr}).second) {
      throw Error(ErrorKind::internal, fmt::format("output '{}' has no buffer of its own", module.output_names[i]));
    }
  }
  return sources;
}

}  // namespace

Wiring::Wiring(const graph::Module& module, const graph::Fusion& fusion, const std::vector<rkernel::Problem>& problems,
               const FixedMemory& fixed) {
  Sources sources = port_sources(module, fusion);
  std::vector<Lifetime> lifetimes;
  for (std::size_t group = 0; group < problems.size(); ++group) {
    first_operand.push_back(operands.size());
    const int step = static_cast<int>(group);
    for (std::size_t i = 0; i < problems[group].operands.size(); ++i) {
      const graph::ValueId buffer = problems[group].operands[i].buffer;
      const graph::ValueKind kind = module.value(buffer).kind;
      if (kind == graph::ValueKind::Weight || kind == graph::ValueKind::Constant) {
        operands.push_back({Kind::Fixed, 0, fixed(group, i)});
        continue;
      }
      const auto [found, is_new] =
          sources.try_emplace(buffer, OperandSource{Kind::Arena, static_cast<int>(arena_values.size()), nullptr});
      if (is_new) {
        arena_values.push_back(buffer);
        lifetimes.push_back({step, step});
      }
      if (found->second.kind == Kind::Arena) lifetimes[static_cast<std::size_t>(found->second.index)].last = step;
      operands.push_back(found->second);
    }
  }
  first_operand.push_back(operands.size());
  layout = ArenaLayout(lifetimes);
}

}  // namespace dyn::runtime
