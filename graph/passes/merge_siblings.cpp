// Siblings that share an input: matmuls of one left operand with constant right sides become one
// matmul over the joined weights, whose result is read in slices. The left operand is read once,
// and one wide product is divided among threads better than several narrow ones.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/fusion/fusion_graph.hpp"
#include "graph/fusion/layout.hpp"
#include "graph/passes/remove_dead.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// A matmul, with the addition of a constant bias that follows it where there is one.
struct Sibling {
  int matmul = -1, add = -1;
  ValueId weight = no_value, bias = no_value, result = no_value;
  std::int64_t columns = 0;
};
using Siblings = std::vector<Sibling>;
/// Siblings share these: the left operand, and whether there is a bias.
using Key = std::pair<ValueId, bool>;

/// Matmuls that are not joined from several yet.
bool is_plain_weight(const Value& value, int rank) {
  return value.kind == ValueKind::Weight && value.weight.parts.size() <= 1 &&
         value.type.rank() == rank;
}

class Finder {
 public:
  explicit Finder(const Module& module) : module_(module), graph_(module) {}

  std::vector<Siblings> find() {
    std::map<Key, Siblings> candidates;
    for (const int id : graph_.order()) {
      if (const std::optional<Sibling> sibling = sibling_of(id))
        candidates[{graph_.node(id).inputs[0], sibling->add >= 0}].push_back(*sibling);
    }
    std::vector<Siblings> sets;
    for (auto& [key, siblings] : candidates) {
      std::int64_t total = 0;
      for (const Sibling& sibling : siblings) total += sibling.columns;
      std::erase_if(siblings,
                    [&](const Sibling& sibling) { return !views_remain(sibling, total); });
      if (siblings.size() > 1) sets.push_back(std::move(siblings));
    }
    drop_where_weights_stay(sets);
    return sets;
  }

 private:
  std::optional<Sibling> sibling_of(int id) const {
    const Node& node = graph_.node(id);
    if (node.op->id != OpId::Matmul || !node.attrs.empty() || !node.origin.empty())
      return std::nullopt;
    const Value& weight = module_.value(node.inputs[1]);
    if (!is_plain_weight(weight, 2) || module_.value(node.inputs[0]).type.rank() < 2)
      return std::nullopt;
    Sibling sibling{id,
                    -1,
                    node.inputs[1],
                    no_value,
                    node.outputs[0],
                    weight.type.dims[1].constant().value_or(0)};
    if (sibling.columns <= 0) return std::nullopt;
    add_bias(sibling);
    const auto reads_in_place = [&](const Edge& edge) {
      return graph_.node(edge.node).op->op_class == OpClass::Elementwise;
    };
    // Element-wise consumers run while the product is in registers; an output must lie densely.
    if (graph_.is_output(sibling.result) ||
        std::ranges::any_of(graph_.readers(sibling.result), reads_in_place))
      return std::nullopt;
    return sibling;
  }

  void add_bias(Sibling& sibling) const {
    const std::vector<Edge>& readers = graph_.readers(sibling.result);
    if (readers.size() != 1 || graph_.is_output(sibling.result)) return;
    const Node& add = graph_.node(readers[0].node);
    if (add.op->id != OpId::Add || !add.origin.empty()) return;
    const ValueId product = add.inputs[static_cast<std::size_t>(readers[0].input)];
    const ValueId other = add.inputs[static_cast<std::size_t>(1 - readers[0].input)];
    const Value& bias = module_.value(other);
    if (product != sibling.result || !is_plain_weight(bias, 1) ||
        bias.type.dims[0].constant() != sibling.columns)
      return;
    sibling.add = readers[0].node;
    sibling.bias = other;
    sibling.result = add.outputs[0];
  }

  /// True where every view of the result can also be a view of columns of a result that is `total`
  /// wide.
  bool views_remain(const Sibling& sibling, std::int64_t total) const {
    std::map<ValueId, View> views;
    const std::vector<Dim>& dims = graph_.dims(sibling.result);
    View& slice = views[sibling.result];
    slice = {sibling.result, module_.dims->constant(0),
             std::vector<Dim>(dims.size(), module_.dims->constant(1))};
    Dim stride = module_.dims->constant(total);
    for (std::size_t axis = dims.size() - 1; axis-- > 0;) {
      slice.strides[axis] = stride;
      stride = stride * dims[axis];
    }
    for (std::size_t id = 0; id < module_.nodes.size(); ++id) {
      const Node& node = module_.nodes[id];
      if (!graph_.is_view(static_cast<int>(id)) || !graph_.live(static_cast<int>(id))) continue;
      const auto input = views.find(node.inputs[0]);
      if (input == views.end()) continue;
      std::optional<View> view = view_through(module_, node, input->second);
      if (!view) return false;
      views[node.outputs[0]] = std::move(*view);
    }
    return true;
  }

  static std::vector<ValueId> constants_of(const Siblings& siblings) {
    std::vector<ValueId> constants;
    for (const Sibling& sibling : siblings) {
      constants.push_back(sibling.weight);
      if (sibling.bias != no_value) constants.push_back(sibling.bias);
    }
    return constants;
  }

  /// A weight that is also read elsewhere would be in memory twice. Sets of the same weights
  /// (layers that share them) share the joined ones.
  void drop_where_weights_stay(std::vector<Siblings>& sets) const {
    std::map<ValueId, std::int64_t> uses;
    for (std::size_t id = 0; id < module_.nodes.size(); ++id) {
      if (!graph_.live(static_cast<int>(id))) continue;
      for (const ValueId input : module_.nodes[id].inputs) ++uses[input];
    }
    for (const ValueId output : module_.outputs) ++uses[output];
    std::map<std::vector<ValueId>, std::int64_t> alike;
    for (const Siblings& set : sets) ++alike[constants_of(set)];
    std::erase_if(sets, [&](const Siblings& set) {
      const std::vector<ValueId> constants = constants_of(set);
      return !std::ranges::all_of(constants,
                                  [&](ValueId id) { return uses[id] == alike[constants]; });
    });
  }

  const Module& module_;
  const FusionGraph graph_;
};

class Merger {
 public:
  explicit Merger(Module& module) : rewriter_(module) {}

  void run(const std::vector<Siblings>& sets) {
    std::map<int, const Siblings*> starts;
    std::set<int> gone;
    for (const Siblings& set : sets) {
      starts[set[0].matmul] = &set;
      for (const Sibling& sibling : set) gone.insert({sibling.matmul, sibling.add});
    }
    std::vector<Node> nodes = rewriter_.module().nodes;
    for (std::size_t id = 0; id < nodes.size(); ++id) {
      if (const auto start = starts.find(static_cast<int>(id)); start != starts.end())
        merge(nodes[id], *start->second);
      if (!gone.contains(static_cast<int>(id))) rewriter_.keep(std::move(nodes[id]));
    }
    rewriter_.finish();
  }

 private:
  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }

  void merge(const Node& first, const Siblings& siblings) {
    rewriter_.begin(first, "");
    std::vector<ValueId> weights, biases;
    for (const Sibling& sibling : siblings) {
      weights.push_back(sibling.weight);
      if (sibling.bias != no_value) biases.push_back(sibling.bias);
    }
    const ValueId weight = joined(weights);
    TensorType type = rewriter_.type(siblings[0].result);
    type.dims.back() = rewriter_.type(weight).dims.back();
    ValueId result = rewriter_.emit("matmul", {first.inputs[0], weight}, type);
    if (!biases.empty()) result = rewriter_.emit("add", {result, joined(biases)}, type);
    std::int64_t start = 0;
    for (const Sibling& sibling : siblings) {
      const TensorType part = rewriter_.type(sibling.result);
      rewriter_.emit("slice", {result}, part,
                     {{"axes", std::vector<Dim>{integer(part.rank() - 1)}},
                      {"starts", std::vector<Dim>{integer(start)}},
                      {"ends", std::vector<Dim>{integer(start + sibling.columns)}}},
                     sibling.result);
      start += sibling.columns;
    }
  }

  ValueId joined(const std::vector<ValueId>& parts) {
    const auto [known, is_new] = joined_.try_emplace(parts, no_value);
    if (!is_new) return known->second;
    TensorType type = rewriter_.type(parts[0]);
    std::int64_t columns = 0;
    for (const ValueId part : parts) columns += rewriter_.type(part).dims.back().constant().value();
    type.dims.back() = integer(columns);
    return known->second = rewriter_.joined_weight(joined_name(parts), std::move(type), parts);
  }

  /// "layer0.{q.weight,k.weight}" of "layer0.q.weight" and "layer0.k.weight".
  std::string joined_name(const std::vector<ValueId>& parts) {
    std::vector<std::string> names;
    for (const ValueId part : parts) names.push_back(rewriter_.module().value(part).name);
    std::size_t common = names[0].rfind('.') + 1;
    for (const std::string& name : names) {
      while (common > 0 && name.compare(0, common, names[0], 0, common) != 0)
        common = common > 1 ? names[0].rfind('.', common - 2) + 1 : 0;
    }
    const std::string stem = names[0].substr(0, common);
    for (std::string& name : names) name.erase(0, common);
    return fmt::format("{}{{{}}}", stem, fmt::join(names, ","));
  }

  Rewriter rewriter_;
  std::map<std::vector<ValueId>, ValueId> joined_;
};

}  // namespace

void merge_siblings(Module& module) {
  const std::vector<Siblings> sets = Finder(module).find();
  if (sets.empty()) return;
  Merger(module).run(sets);
  remove_dead(module);
}

}  // namespace dyn::graph
