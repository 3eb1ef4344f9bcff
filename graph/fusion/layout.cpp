#include "graph/fusion/layout.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "graph/ops/recurrence.hpp"
#include "graph/ops/sliding_window.hpp"

namespace dyn::graph {
namespace {

class Layouter {
 public:
  Layouter(Module& module, const FusionGraph& graph, Fusion& fusion)
      : module_(module), graph_(graph), fusion_(fusion) {
    fusion_.views.resize(module.values.size());
    needed_.assign(module.values.size(), false);
  }

  void run(const FuseOptions& options) {
    columns_apart_ = options.columns_apart;
    find_needed();
    store_bases();
    if (options.place_parts)
      std::erase_if(fusion_.groups, [this](const Group& group) { return place_parts(group); });
    for (std::size_t i = 0; i < node_count_; ++i) {
      if (graph_.is_view(static_cast<int>(i)) && needed(module_.nodes[i].outputs[0]))
        view(static_cast<int>(i));
    }
    give_outputs();
  }

 private:
  bool needed(ValueId id) const { return needed_[static_cast<std::size_t>(id)]; }
  View& view_of(ValueId id) { return fusion_.views[static_cast<std::size_t>(id)]; }
  const std::vector<Dim>& dims(ValueId id) const { return module_.value(id).type.dims; }
  bool columns_apart_ = false;

  /// Marks a value, and those that it is a view of, as read from memory.
  void need(ValueId id) {
    while (!needed(id)) {
      needed_[static_cast<std::size_t>(id)] = true;
      if (id == graph_.root(id)) return;
      id = viewed(graph_.node(module_.value(id).producer));
    }
  }

  void find_needed() {
    for (const Group& group : fusion_.groups) {
      const std::set<int> members(group.nodes.begin(), group.nodes.end());
      for (const int id : group.nodes) {
        const Node& node = graph_.node(id);
        if (node.op->id == OpId::WindowMatmul)
          slid_over_.insert(image_in_memory(module_, node, members));
        if (node.op->op_class == OpClass::Contraction && takes_groups(node))
          (node.op->id == OpId::WindowMatmul ? grouped_ : in_runs_).insert(node.inputs[0]);
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          if (is_plain_input(module_, node, i)) continue;
          const ValueId input = node.inputs[i];
          const int producer = graph_.root_producer(input);
          const bool literal = module_.value(graph_.root(input)).kind == ValueKind::Constant &&
                               !graph_.in_state(input);
          const bool from_memory = producer < 0 ? !literal : !members.contains(producer);
          if (from_memory || (literal && needs_memory(node, input))) need(input);
        }
      }
    }
    for (const ValueId id : module_.outputs) need(id);
  }

  bool needs_memory(const Node& node, ValueId input) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == input && reads_memory(module_, node, i)) return true;
    }
    return false;
  }

  void store_bases() {
    std::map<ValueId, std::vector<int>> views;
    for (std::size_t i = 0; i < node_count_; ++i) {
      const ValueId result = module_.nodes[i].outputs[0];
      if (graph_.is_view(static_cast<int>(i)) && needed(result))
        views[graph_.root(result)].push_back(static_cast<int>(i));
    }
    for (const ValueId state : module_.states) store_densely(state);
    for (std::size_t i = 0; i < module_.values.size(); ++i) {
      const ValueKind kind = module_.values[i].kind;
      if (kind == ValueKind::Input || kind == ValueKind::Weight)
        store_densely(static_cast<ValueId>(i));
    }
    for (Group& group : fusion_.groups) {
      if (columns_apart_ && group.backbone == Backbone::Matmul) part_columns(group, views);
      for (const ValueId id : group.outputs) {
        if (group.backbone == Backbone::Host)
          store_densely(id);
        else
          view_of(id) = store_result(id, views[id]);
      }
    }
  }

  /// Results of which all readers take columns, some of them to slide windows over, become as many
  /// outputs: each is dense.
  void part_columns(Group& group, std::map<ValueId, std::vector<int>>& views) {
    std::vector<ValueId> outputs;
    std::vector<Coords> coords;
    for (std::size_t i = 0; i < group.outputs.size(); ++i) {
      const ValueId id = group.outputs[i];
      const std::vector<int> slices = columns_of(id, views[id]);
      for (const int slice : slices) {
        const ValueId part = graph_.node(slice).outputs[0];
        outputs.push_back(part);
        coords.push_back(group.output_coords[i]);
        const int last = static_cast<int>(dims(id).size()) - 1;
        coords.back().back() =
            coords.back().back() + slice_step(module_, graph_.node(slice), last).start * -1;
        views[part] = views_behind(part, views[id]);
      }
      if (!slices.empty()) continue;
      outputs.push_back(id);
      coords.push_back(group.output_coords[i]);
    }
    group.outputs = std::move(outputs);
    group.output_coords = std::move(coords);
  }

  /// The slices along the last axis through which all else reads the value, where windows slide
  /// over one of them; else none.
  std::vector<int> columns_of(ValueId id, const std::vector<int>& views) const {
    const auto input_of = [this](const Edge& edge) {
      return graph_.node(edge.node).inputs[static_cast<std::size_t>(edge.input)];
    };
    const bool is_read_whole =
        graph_.is_output(id) || std::ranges::any_of(graph_.readers(id), [&](const Edge& edge) {
          return input_of(edge) == id && needed_by_others(edge.node, id);
        });
    if (is_read_whole) return {};
    std::vector<int> slices;
    bool slides = false;
    for (const int view : views) {
      const Node& node = graph_.node(view);
      slides = slides || slid_over_.contains(node.outputs[0]);
      if (viewed(node) != id) continue;
      if (!takes_columns(node)) return {};
      slices.push_back(view);
    }
    return slides ? slices : std::vector<int>();
  }

  /// Members of the group that computes the value do not need its memory.
  bool needed_by_others(int reader, ValueId id) const {
    return graph_.group_of(reader) != graph_.group_of(module_.value(id).producer);
  }

  bool takes_columns(const Node& view) const {
    if (view.op->id != OpId::Slice) return false;
    const auto axes = attr_integers(view, "axes");
    const int rank = static_cast<int>(dims(view.inputs[0]).size());
    return axes.size() == 1 && *normalize_axis(axes[0], rank) == rank - 1 &&
           slice_step(module_, view, rank - 1).step == 1;
  }

  /// Those of `views` that are views of `id`.
  std::vector<int> views_behind(ValueId id, const std::vector<int>& views) const {
    std::set<ValueId> values{id};
    std::vector<int> behind;
    for (const int view : views) {
      const Node& node = graph_.node(view);
      if (values.contains(viewed(node)) && values.insert(node.outputs[0]).second)
        behind.push_back(view);
    }
    return behind;
  }

  /// In the state that it is appended to, where strides reach that; else in a buffer of its own.
  View store_result(ValueId id, std::vector<int>& views) {
    for (const int view : views) {
      const Node& node = graph_.node(view);
      if (node.op->id != OpId::Append || placed_.contains(node.outputs[0])) continue;
      auto place = view_in_state(graph_, id, node);
      if (!place) continue;
      placed_.insert(node.outputs[0]);
      fusion_.reasons.push_back({id, fmt::format("it is written to its place in the state {}",
                                                 module_.value(place->base).name)});
      return std::move(*place);
    }
    std::erase_if(views,
                  [this](int view) { return graph_.in_state(graph_.node(view).outputs[0]); });
    return stored_view(module_, id, choose_storage(graph_, id, views));
  }

  /// Removes a group that does nothing but put results side by side, and computes all of them in
  /// their places. False, and nothing done, where some cannot be.
  bool place_parts(const Group& group) {
    const Node& node = graph_.node(group.backbone_node);
    if (group.nodes.size() != 1 || node.op->id != OpId::Concat) return false;
    std::set<ValueId> roots;
    for (const ValueId part : node.inputs) {
      const ValueId root = graph_.root(part);
      if (!computed_for_one(graph_, part) || view_of(root).base != root ||
          !roots.insert(root).second)
        return false;
    }
    std::vector<View> views = views_in_concat(graph_, node, view_of(node.outputs[0]));
    if (views.empty()) return false;
    for (std::size_t i = 0; i < views.size(); ++i)
      place_part(node, node.inputs[i], std::move(views[i]));
    return true;
  }

  void place_part(const Node& concat, ValueId part, View view) {
    const ValueId root = graph_.root(part);
    fusion_.reasons.push_back({root, fmt::format("it is written to its place in {}",
                                                 module_.value(concat.outputs[0]).name)});
    view_of(root) = std::move(view);
  }

  void store_densely(ValueId id) {
    view_of(id) = {id, module_.dims->constant(0), dense_strides(*module_.dims, dims(id))};
  }

  void view(int id) {
    const Node& node = module_.nodes[static_cast<std::size_t>(id)];
    if (node.op->id == OpId::Append) return append(id);
    if (view_of(node.outputs[0]).base != no_value) return;  // an output of its group
    const View& input = view_of(node.inputs[0]);
    if (input.base == no_value) return copy(id, "a literal has no memory of its own");
    auto result = view_through(module_, node, input);
    if (!result)
      return copy(
          id, fmt::format("no strides reach {} in this order", module_.value(node.inputs[0]).name));
    if (slid_over_.contains(node.outputs[0]) && result->strides.back().constant() != 1)
      return copy(id, "windows read its channels one after the other, many times");
    if (grouped_.contains(node.outputs[0]) &&
        !in_groups(*result, module_.value(node.outputs[0]).type.dtype))
      return copy(id, "a product takes several of its elements at once");
    if (in_runs_.contains(node.outputs[0]) && result->strides.back().constant() != 1)
      return copy(id, "a product takes several of its elements at once");
    view_of(node.outputs[0]) = std::move(*result);
  }

  /// A product of narrow elements by others, or of bf16.
  bool takes_groups(const Node& node) const {
    const DType a = module_.value(node.inputs[0]).type.dtype;
    return size_of(a) < sizeof(float) &&
           (a == DType::bf16 || a != module_.value(node.inputs[1]).type.dtype);
  }

  /// Rows of whole groups, each contiguous.
  static bool in_groups(const View& view, DType dtype) {
    const auto is_whole = [dtype](Dim elements) {
      const Dim size = elements.table().constant(product_group_of(dtype));
      return prove_equal(floordiv(elements, size) * size, elements) == true;
    };
    return view.strides.back().constant() == 1 && is_whole(view.offset) &&
           std::ranges::all_of(view.strides.begin(), view.strides.end() - 1, is_whole);
  }

  /// The result is the state's buffer; what is appended goes there in a copy of its own, where it
  /// is not there yet.
  void append(int id) {
    const Node& node = module_.nodes[static_cast<std::size_t>(id)];
    const ValueId result = node.outputs[0], x = node.inputs[1];
    view_of(result) = view_of(node.inputs[0]);
    if (placed_.contains(result)) return;
    Group group;
    group.backbone = Backbone::Copy;
    group.nodes = {id};
    group.backbone_node = id;
    group.outputs = {result};
    group.output_coords = {appended_coords(module_, node)};
    group.extents = dims(x);
    group.reduced.assign(group.extents.size(), false);
    fusion_.groups.push_back(std::move(group));
    fusion_.reasons.push_back({result, fmt::format("a copy of {} alone, to its place in the state",
                                                   module_.value(x).name)});
  }

  /// Makes the result of view node `id` a base of its own.
  void copy(int id, const std::string& why) {
    const Node& node = module_.nodes[static_cast<std::size_t>(id)];
    const ValueId result = node.outputs[0];
    Group group;
    group.backbone = Backbone::Copy;
    group.nodes = {id};
    group.backbone_node = id;
    group.outputs = {result};
    group.extents = dims(node.op->id == OpId::Reshape ? node.inputs[0] : result);
    group.reduced.assign(group.extents.size(), false);
    fusion_.groups.push_back(std::move(group));
    fusion_.reasons.push_back({result, fmt::format("a copy: {}", why)});
    store_densely(result);
  }

  void give_outputs() {
    fusion_.output_bases.assign(module_.outputs.size(), no_value);
    std::set<ValueId> claimed;
    const auto claim = [&](std::size_t i, ValueId base) {
      if (!claimed.insert(base).second) return;
      fusion_.output_bases[i] = base;
    };
    // A value that is an output itself comes before outputs that are views of it.
    for (std::size_t i = 0; i < module_.outputs.size(); ++i) {
      if (computed_densely(module_.outputs[i]) &&
          view_of(module_.outputs[i]).base == module_.outputs[i]) {
        claim(i, module_.outputs[i]);
      }
    }
    for (std::size_t i = 0; i < module_.outputs.size(); ++i) {
      if (fusion_.output_bases[i] != no_value) continue;
      if (computed_densely(module_.outputs[i])) claim(i, view_of(module_.outputs[i]).base);
      if (fusion_.output_bases[i] == no_value) claim(i, copied_output(i));
    }
  }

  /// Whether the value is the whole of a computed buffer, in order.
  bool computed_densely(ValueId id) {
    const View& view = view_of(id);
    if (view.base == no_value || module_.value(view.base).kind != ValueKind::Result) return false;
    for (ValueId at = id; at != view.base;) {
      const Node& node = module_.nodes[static_cast<std::size_t>(module_.value(at).producer)];
      if (node.op->id != OpId::Reshape && node.op->id != OpId::Transpose) return false;
      at = node.inputs[0];
    }
    return is_dense(view, dims(id));
  }

  /// A value of its own, so that what reads the output's value goes on reading it where it lies.
  ValueId copied_output(std::size_t i) {
    const ValueId id = module_.outputs[i] = append_reshape(module_.outputs[i]);
    copy(module_.value(id).producer, "an output of the graph is dense, in memory of its own");
    return id;
  }

  /// A new value that equals `id`.
  ValueId append_reshape(ValueId id) {
    const auto result = static_cast<ValueId>(module_.values.size());
    Value value;
    value.name = fmt::format("{}.output_{}", module_.value(id).name, result);
    value.type = module_.value(id).type;
    value.producer = static_cast<int>(module_.nodes.size());
    Node node;
    node.op = find_op("reshape");
    node.inputs = {id};
    node.outputs = {result};
    node.attrs = {{"shape", value.type.dims}};
    module_.values.push_back(std::move(value));
    module_.nodes.push_back(std::move(node));
    fusion_.views.emplace_back();
    return result;
  }

  Module& module_;
  const FusionGraph& graph_;
  Fusion& fusion_;
  std::vector<bool> needed_;
  std::set<ValueId> slid_over_;  ///< by the windows of a window_matmul
  std::set<ValueId> grouped_;    ///< left sides of products of narrow elements in windows
  std::set<ValueId> in_runs_;    ///< and of others, whose rows may end with part of a group
  std::set<ValueId>
      placed_;  ///< results of appends whose operand is computed in its place in the state
  const std::size_t node_count_ = module_.nodes.size();
};

}  // namespace

void lay_out(Module& module, const FusionGraph& graph, Fusion& fusion, const FuseOptions& options) {
  Layouter(module, graph, fusion).run(options);
}

}  // namespace dyn::graph
