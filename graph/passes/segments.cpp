#include "graph/passes/segments.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/op.hpp"
#include "graph/shapes/unifier.hpp"

namespace dyn::graph {
namespace {

bool defines(const Node& node) { return !node.op->defines.empty(); }

bool is_if(const Node& node) { return node.op->id == OpId::If; }

using Path = std::vector<Side>;

/// Finds for each node its level, which is the number of cuts before it, and the sides of `if`s
/// that are alone in needing it.
class Cutter {
 public:
  explicit Cutter(const Module& module)
      : module_(module),
        level_(module.nodes.size(), 0),
        needed_(module.nodes.size(), false),
        path_(module.nodes.size()),
        uses_(module.nodes.size()) {
    find_definers();
    find_uses();
    find_paths();
    find_levels();
  }

  std::vector<Segment> run() {
    std::map<std::tuple<int, bool, std::size_t, int>, Segment> segments;
    for (int i = 0; i < count(); ++i) {
      if (!needed_[at(i)]) continue;
      const bool cuts = defines(node(i));
      Segment& segment = segments[{level_[at(i)], cuts, path_[at(i)].size(),
                                   cuts ? i : path_number(path_[at(i)])}];
      segment.defines = cuts;
      segment.sides = path_[at(i)];
      segment.nodes.push_back(i);
    }
    std::vector<Segment> ordered;
    for (auto& [key, segment] : segments) ordered.push_back(std::move(segment));
    Segment weights;
    connect(ordered, weights);
    if (!weights.outputs.empty()) ordered.insert(ordered.begin(), std::move(weights));
    return ordered;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int count() const { return static_cast<int>(module_.nodes.size()); }
  const Node& node(int i) const { return module_.nodes[at(i)]; }

  void find_definers() {
    for (int i = 0; i < count(); ++i) {
      for (const int symbol : defined_symbols(module_, node(i))) {
        if (!definer_.emplace(symbol, i).second)
          fail_at(module_, node(i).location,
                  fmt::format("the dim {} gets its value from two operators",
                              module_.dims->info(symbol).name));
      }
    }
  }

  /// The nodes that decide symbols of the node's results and attributes, without itself.
  std::set<int> definers_of(int i) const {
    std::set<int> found;
    const auto visit = [&](Dim dim) {
      for_each_symbol(dim, [&](int symbol) {
        const auto definer = definer_.find(symbol);
        if (definer != definer_.end() && definer->second != i) found.insert(definer->second);
      });
    };
    for (const ValueId id : node(i).outputs)
      std::ranges::for_each(module_.value(id).type.dims, visit);
    for (const Attr& attr : node(i).attrs) {
      if (const auto* dim = std::get_if<Dim>(&attr.value)) visit(*dim);
      if (const auto* dims = std::get_if<std::vector<Dim>>(&attr.value))
        std::ranges::for_each(*dims, visit);
    }
    return found;
  }

  /// A use: the node that uses, and on which side, where that node is an `if`.
  void find_uses() {
    const auto add = [&](int producer, int user, int input) {
      if (producer >= 0) uses_[at(producer)].push_back({user, is_if(node(user)) ? input : 0});
    };
    for (int i = 0; i < count(); ++i) {
      const Node& user = node(i);
      for (std::size_t k = 0; k < user.inputs.size(); ++k)
        add(module_.value(user.inputs[k]).producer, i, static_cast<int>(k));
      for (const int definer : definers_of(i)) add(definer, i, 0);
    }
  }

  /// Goes from the last node to the first; a node gets the sides that all its uses share.
  void find_paths() {
    std::vector<bool> known(module_.nodes.size(), false);
    const auto use = [&](int producer, const Path& path) {
      Path& own = path_[at(producer)];
      if (!known[at(producer)])
        own = path;
      else
        own.erase(std::mismatch(own.begin(), own.end(), path.begin(), path.end()).first, own.end());
      known[at(producer)] = true;
    };
    for (const ValueId output : module_.outputs) {
      if (module_.value(output).producer >= 0) use(module_.value(output).producer, {});
    }
    for (int i = count(); i-- > 0;) {
      for (const auto& [user, side] : uses_[at(i)]) {
        if (!known[at(user)]) continue;
        Path path = path_[at(user)];
        if (side > 0) path.push_back({user, side == 1});
        use(i, path);
      }
    }
    needed_ = known;
  }

  int value_level(ValueId id) const {
    const int producer = module_.value(id).producer;
    return producer < 0 ? 0 : level_[at(producer)] + defines(node(producer));
  }

  /// Levels only grow, and a side's nodes wait for the condition, which may stand after them in the
  /// text.
  void find_levels() {
    for (bool changed = true; changed;) {
      changed = false;
      for (int i = 0; i < count(); ++i) {
        int level = level_[at(i)];
        for (const ValueId id : node(i).inputs) level = std::max(level, value_level(id));
        for (const int definer : definers_of(i)) level = std::max(level, level_[at(definer)] + 1);
        for (const Side& side : path_[at(i)])
          level = std::max(level, value_level(node(side.node).inputs[0]) + 1);
        changed = changed || level != level_[at(i)];
        level_[at(i)] = level;
        if (level > count())
          fail_at(module_, node(i).location, "sizes that it needs depend on its own result");
      }
    }
  }

  int path_number(const Path& path) {
    const auto known = std::ranges::find(paths_, path);
    if (known != paths_.end()) return static_cast<int>(known - paths_.begin());
    paths_.push_back(path);
    return static_cast<int>(paths_.size()) - 1;
  }

  void connect(std::vector<Segment>& segments, Segment& weights) const {
    std::vector<int> segment_of(module_.nodes.size(), -1);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (const int i : segments[s].nodes) segment_of[at(i)] = static_cast<int>(s);
    }
    std::vector<std::set<ValueId>> outputs(segments.size());
    std::set<ValueId> outer_weights;
    const auto read = [&](ValueId id) {
      const Value& value = module_.value(id);
      if (value.producer >= 0)
        outputs[at(segment_of[at(value.producer)])].insert(id);
      else if (value.kind == ValueKind::Weight)
        outer_weights.insert(id);
    };
    for (std::size_t s = 0; s < segments.size(); ++s) {
      std::set<ValueId> inputs;
      for (const int i : segments[s].nodes) {
        for (const ValueId id : node(i).inputs) {
          const Value& value = module_.value(id);
          const bool fixed = value.kind == ValueKind::Constant ||
                             (value.kind == ValueKind::Weight && !segments[s].defines);
          if (fixed ||
              (value.producer >= 0 && segment_of[at(value.producer)] == static_cast<int>(s)))
            continue;
          if (inputs.insert(id).second) segments[s].inputs.push_back(id);
          read(id);
        }
      }
    }
    for (const ValueId id : module_.outputs) read(id);
    for (std::size_t s = 0; s < segments.size(); ++s)
      segments[s].outputs.assign(outputs[s].begin(), outputs[s].end());
    weights.outputs.assign(outer_weights.begin(), outer_weights.end());
  }

  const Module& module_;
  std::vector<int> level_;
  std::vector<bool> needed_;
  std::vector<Path> path_;
  std::vector<std::vector<std::pair<int, int>>> uses_;  ///< by node: (user, side)
  std::map<int, int> definer_;                          ///< by symbol
  std::vector<Path> paths_;
};

}  // namespace

bool defines_dims(const Module& module) { return std::ranges::any_of(module.nodes, defines); }

std::vector<Segment> cut(const Module& module) {
  if (!module.states.empty())
    throw Error(ErrorKind::unsupported,
                "a model with states cannot have operators whose run decides sizes");
  return Cutter(module).run();
}

Module module_of(const Module& whole, const Segment& segment) {
  Module part;
  part.name = whole.name;
  part.source_name = whole.source_name;
  part.source_text = whole.source_text;
  part.dims = whole.dims;
  part.declared_symbols = whole.declared_symbols;
  part.replaced_symbols = whole.replaced_symbols;
  part.weight_files = whole.weight_files;
  std::unordered_map<ValueId, ValueId> taken;
  const std::function<ValueId(ValueId)> take = [&](ValueId id) {
    if (const auto known = taken.find(id); known != taken.end()) return known->second;
    Value value = whole.value(id);
    for (ValueId& weight : value.weight.parts) weight = take(weight);
    part.values.push_back(std::move(value));
    return taken[id] = static_cast<ValueId>(part.values.size()) - 1;
  };
  for (const ValueId id : segment.inputs) {
    const ValueId input = take(id);
    part.value(input).kind = ValueKind::Input;
    part.value(input).producer = -1;
    part.inputs.push_back(input);
  }
  for (const int number : segment.nodes) {
    Node node = whole.nodes[static_cast<std::size_t>(number)];
    for (ValueId& id : node.inputs) id = take(id);
    for (ValueId& id : node.outputs) {
      id = take(id);
      part.value(id).producer = static_cast<int>(part.nodes.size());
    }
    part.nodes.push_back(std::move(node));
  }
  for (const ValueId id : segment.outputs) {
    part.outputs.push_back(take(id));
    part.output_names.push_back(part.value(part.outputs.back()).name);
  }
  return part;
}

}  // namespace dyn::graph
