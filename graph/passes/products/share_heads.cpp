#include "graph/passes/products/share_heads.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/passes/remove_dead.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// Axes of [B, H, Skv, D], and of the same with the group behind the heads that have keys.
constexpr std::size_t heads_axis = 1, rank_of_heads = 4, group_axis = 2, rank_of_groups = 5;

class HeadSharer {
 public:
  explicit HeadSharer(Module& module) : module_(module), rewriter_(module) {}

  void run() {
    for (const Node& node : module_.nodes) {
      if (!shares(node)) rewriter_.keep(node);
    }
    rewriter_.finish();
  }

 private:
  const std::vector<Dim>& dims(ValueId id) const { return module_.value(id).type.dims; }
  static bool equal(Dim a, Dim b) { return prove_equal(a, b) == true; }

  /// The value [B, H, group, Skv, D] that is expanded along the group, and reshaped to `id`.
  ValueId repeated(ValueId id) const {
    const Node* const reshape = producer_of(module_, id, OpId::Reshape);
    const Node* const expand =
        reshape == nullptr ? nullptr : producer_of(module_, reshape->inputs[0], OpId::Expand);
    if (expand == nullptr) return no_value;
    const std::vector<Dim>&one = dims(expand->inputs[0]), &all = dims(expand->outputs[0]);
    if (one.size() != rank_of_groups || all.size() != rank_of_groups ||
        one[group_axis].constant() != 1 || dims(id).size() != rank_of_heads)
      return no_value;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != group_axis && !equal(one[i], all[i])) return no_value;
    }
    const bool joins = equal(dims(id)[heads_axis], all[heads_axis] * all[group_axis]) &&
                       equal(dims(id)[0], all[0]) && equal(dims(id)[2], all[3]);
    return joins ? expand->outputs[0] : no_value;
  }

  /// `of`, whose heads are an axis that counts from the end, with an axis for the group; nothing
  /// where a mask has other heads.
  std::optional<std::vector<Dim>> in_groups(std::vector<Dim> of, Dim heads, Dim group) const {
    if (of.size() + 1 < rank_of_heads) return of;
    const auto at = of.end() - (rank_of_heads - heads_axis);
    if (at->constant() == 1) {
      of.insert(at, *at);
    } else if (equal(*at, heads * group)) {
      *at = group;
      of.insert(at, heads);
    } else {
      return std::nullopt;
    }
    return of;
  }

  ValueId reshaped(ValueId id, const std::vector<Dim>& to) {
    if (dims(id).size() == to.size()) return id;
    return rewriter_.emit("reshape", {id}, {rewriter_.type(id).dtype, to}, {{"shape", to}});
  }

  /// Emits attention in groups, where the node is one whose keys and values are repeated.
  bool shares(const Node& node) {
    if (node.op->op_class != OpClass::Attention || attr_boolean(node, "scales") ||
        dims(node.inputs[0]).size() != rank_of_heads)
      return false;
    const ValueId keys = repeated(node.inputs[1]), values = repeated(node.inputs[2]);
    if (keys == no_value || values == no_value) return false;
    const Dim heads = dims(keys)[heads_axis], group = dims(keys)[group_axis];
    if (!equal(heads, dims(values)[heads_axis]) || !equal(group, dims(values)[group_axis]))
      return false;
    const auto queries = in_groups(dims(node.inputs[0]), heads, group);
    const auto result = in_groups(dims(node.outputs[0]), heads, group);
    std::optional<std::vector<Dim>> mask;
    if (node.inputs.size() > 3) mask = in_groups(dims(node.inputs[3]), heads, group);
    if (!queries || !result || (node.inputs.size() > 3 && !mask)) return false;
    rewriter_.begin(node, "");
    std::vector<ValueId> inputs{reshaped(node.inputs[0], *queries), keys, values};
    if (mask) inputs.push_back(reshaped(node.inputs[3], *mask));
    const TensorType type = rewriter_.type(node.outputs[0]);
    const ValueId grouped =
        rewriter_.emit(node.op->name, std::move(inputs), {type.dtype, *result}, node.attrs);
    rewriter_.emit("reshape", {grouped}, type, {{"shape", type.dims}}, node.outputs[0]);
    return true;
  }

  Module& module_;
  Rewriter rewriter_;
};

}  // namespace

void share_heads(Module& module) {
  const auto is_one = [](const Node& node) { return node.op->op_class == OpClass::Attention; };
  if (std::ranges::none_of(module.nodes, is_one)) return;
  HeadSharer(module).run();
  remove_dead(module);
}

}  // namespace dyn::graph
