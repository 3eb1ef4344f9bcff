// Siblings that share an input: matmuls of one left operand with constant right sides become one
// matmul over the joined weights, whose result is read in slices, as do the activations behind them
// where these are alike. The left operand is read once, and one wide product is divided among
// threads better than several narrow ones.

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
#include "graph/passes/siblings.hpp"

namespace dyn::graph {
namespace {

using Siblings = std::vector<Sibling>;
/// Siblings share these: the left operand, and what follows the product.
using Key = std::pair<ValueId, std::string>;

class Finder {
 public:
  Finder(const Module& module, bool columns_apart)
      : module_(module), graph_(module), columns_apart_(columns_apart) {}

  std::vector<Siblings> find() {
    std::map<Key, Siblings> candidates;
    for (const int id : graph_.order()) {
      if (const std::optional<Sibling> sibling = sibling_of(id))
        candidates[{graph_.node(id).inputs[0], sibling->followers}].push_back(*sibling);
    }
    std::vector<Siblings> sets;
    for (auto& [key, siblings] : candidates) {
      if (siblings.size() < 2) continue;  // what follows looks at all nodes
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
    std::optional<Sibling> sibling = find_sibling(graph_, id);
    if (!sibling) return std::nullopt;
    const auto takes_no_columns = [&](const Edge& edge) { return !takes_columns(*sibling, edge); };
    // An output must lie densely.
    if (graph_.is_output(sibling->result) ||
        std::ranges::any_of(graph_.readers(sibling->result), takes_no_columns))
      return std::nullopt;
    return sibling;
  }

  /// Whether a reader loses nothing where the result is columns of a wider one. Element-wise
  /// readers run while the product is in registers. Windows slide over dense rows, and parts of a
  /// concatenation can be computed in their places: what is merged for more than one addition has
  /// to save more than these.
  bool takes_columns(const Sibling& sibling, const Edge& edge) const {
    const Node& reader = graph_.node(edge.node);
    if (reader.op->op_class == OpClass::Elementwise) return false;
    if (sibling.is_plain) return true;
    const bool slides = reader.op->id == OpId::WindowMatmul || reader.op->id == OpId::Windows;
    return slides ? columns_apart_ : reader.op->op_class != OpClass::Indexed;
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
      constants.insert(constants.end(), sibling.columns_of.begin(), sibling.columns_of.end());
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
  const bool columns_apart_;
};

class Merger {
 public:
  explicit Merger(Module& module) : rewriter_(module) {}

  void run(const std::vector<Siblings>& sets) {
    std::map<int, const Siblings*> starts;
    std::set<int> gone;
    for (const Siblings& set : sets) {
      starts[set[0].matmul] = &set;
      for (const Sibling& sibling : set) {
        gone.insert(sibling.matmul);
        gone.insert(sibling.behind.begin(), sibling.behind.end());
      }
    }
    std::vector<Node> nodes = rewriter_.module().nodes;
    all_ = nodes;
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
    const ValueId weight = joined(siblings, [](const Sibling& one) { return one.weight; });
    TensorType type = rewriter_.type(first.outputs[0]);
    type.dims.back() = rewriter_.type(weight).dims.back();
    std::map<ValueId, ValueId> now;
    ValueId result = now[first.outputs[0]] =
        rewriter_.emit("matmul", {first.inputs[0], as_matrix(weight)}, type);
    for (const int id : siblings[0].behind) {
      const Node& node = all_[static_cast<std::size_t>(id)];
      result = now[node.outputs[0]] = follow(node, siblings, now, type);
    }
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

  /// The node behind the first sibling's product, behind that of all.
  ValueId follow(const Node& node, const Siblings& siblings, const std::map<ValueId, ValueId>& now,
                 TensorType type) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const auto known = now.find(input);
      const auto& columns = siblings[0].columns_of;
      const auto place = std::ranges::find(columns, input) - columns.begin();
      if (known != now.end())
        inputs.push_back(known->second);
      else if (static_cast<std::size_t>(place) < columns.size())
        inputs.push_back(joined(siblings, [&](const Sibling& one) {
          return one.columns_of[static_cast<std::size_t>(place)];
        }));
      else
        inputs.push_back(input);
    }
    type.dtype = rewriter_.type(node.outputs[0]).dtype;
    return rewriter_.emit(node.op->name, inputs, std::move(type));
  }

  /// Filters of one tap are a matrix.
  ValueId as_matrix(ValueId weight) {
    const TensorType type = rewriter_.type(weight);
    if (type.rank() == 2) return weight;
    const std::vector<Dim> shape(type.dims.end() - 2, type.dims.end());
    return rewriter_.emit("reshape", {weight}, {type.dtype, shape}, {{"shape", shape}});
  }

  template <class PartOf>
  ValueId joined(const Siblings& siblings, const PartOf& part_of) {
    std::vector<ValueId> parts;
    for (const Sibling& sibling : siblings) parts.push_back(part_of(sibling));
    return joined(parts);
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
  std::vector<Node> all_;  ///< as they were
  std::map<std::vector<ValueId>, ValueId> joined_;
};

}  // namespace

void merge_siblings(Module& module, bool columns_apart) {
  const std::vector<Siblings> sets = Finder(module, columns_apart).find();
  if (sets.empty()) return;
  Merger(module).run(sets);
  remove_dead(module);
}

}  // namespace dyn::graph
