#include "graph/fusion/reasons.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/ir/op.hpp"

namespace dyn::graph {
namespace {

struct Read {
  const Group* reader;
  const Node* node;
};

std::string reason(const Group& writer, const Read& read, std::size_t readers) {
  const std::string& reader = read.reader->name;
  if (read.reader->backbone == Backbone::Copy) return fmt::format("{} copies it", reader);
  if (read.node->op->op_class == OpClass::Recurrence)
    return fmt::format("{} takes it step by step", reader);
  if (writer.backbone == Backbone::Recurrence)
    return fmt::format("{} makes it step by step", writer.name);
  if (contracts(read.node->op->op_class)) {
    return fmt::format("{} contracts over it: each element is read for many results", reader);
  }
  if (read.node->op->op_class == OpClass::Host)
    return fmt::format("{} takes whole tensors", reader);
  if (writer.backbone == Backbone::Host) return fmt::format("{} makes whole tensors", writer.name);
  if (read.node->op->id == OpId::Windows)
    return fmt::format("{} slides windows over it: each element is read several times", reader);
  if (read.node->op->id == OpId::Gather)
    return fmt::format("{} gathers from it, at places known only when it runs", reader);
  if (writer.backbone == Backbone::Matmul && read.reader->backbone == Backbone::Reduction) {
    return fmt::format(
        "{} reads whole rows of {}'s result: a reduction cannot join a matmul's epilogue", reader,
        writer.name);
  }
  if (readers > 1) return fmt::format("{} groups read it, {} among them", readers, reader);
  if (read.reader->backbone == Backbone::Matmul) {
    return fmt::format("{}'s epilogue would compute it anew for each row", reader);
  }
  return fmt::format("{} runs over another index space than {}", reader, writer.name);
}

}  // namespace

void explain_memory(const Module& module, Fusion& fusion) {
  std::unordered_map<ValueId, std::vector<Read>> reads;
  for (const Group& group : fusion.groups) {
    const std::set<int> members(group.nodes.begin(), group.nodes.end());
    for (const int id : group.nodes) {
      const Node& node = module.nodes[static_cast<std::size_t>(id)];
      for (const ValueId input : node.inputs) {
        const ValueId base = fusion.views[static_cast<std::size_t>(input)].base;
        if (base == no_value || members.contains(module.value(base).producer)) continue;
        auto& of_base = reads[base];
        if (of_base.empty() || of_base.back().reader != &group) of_base.push_back({&group, &node});
      }
    }
  }
  for (const Group& group : fusion.groups) {
    for (const ValueId id : group.outputs) {
      const auto read = reads.find(id);
      if (read != reads.end())
        fusion.reasons.push_back({id, reason(group, read->second.front(), read->second.size())});
    }
  }
}

}  // namespace dyn::graph
