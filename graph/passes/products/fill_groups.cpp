#include "graph/passes/products/fill_groups.hpp"

#include <map>
#include <optional>
#include <utility>

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// The channels along which a product of windows adds up lie along the last axis but one of a
/// weight.
struct Channels {
  ValueId weight;
  std::int64_t count;
  bool is_reshaped;  ///< the right side is the weight as a matrix: all axes before the last are one
};

std::optional<Channels> channels_of(const Module& module, const Node& node) {
  const bool is_conv = node.op->id == OpId::Conv;
  if (is_conv ? attr_integer(node, "groups") != 1 : node.op->id != OpId::WindowMatmul)
    return std::nullopt;
  Channels channels{node.inputs[1], 0, false};
  const Value* right = &module.value(channels.weight);
  if (!is_conv && right->type.rank() != 2) return std::nullopt;
  if (right->producer >= 0) {
    const Node& view = module.nodes[static_cast<std::size_t>(right->producer)];
    if (view.op->id != OpId::Reshape) return std::nullopt;
    channels.weight = view.inputs[0];
    channels.is_reshaped = true;
    right = &module.value(channels.weight);
  }
  if (right->kind != ValueKind::Weight || right->weight.kind == WeightSource::Kind::Blocks ||
      right->type.rank() < 2)
    return std::nullopt;
  const std::optional<std::int64_t> count =
      module.value(node.inputs[0]).type.dims.back().constant();
  if (!count || (right->type.dims.end() - 2)->constant() != count) return std::nullopt;
  channels.count = *count;
  return channels;
}

class Filler {
 public:
  explicit Filler(Module& module) : rewriter_(module) {}

  void run(const std::function<std::int64_t(const Node&)>& group_of) {
    const std::vector<Node> nodes = rewriter_.module().nodes;
    for (const Node& node : nodes) {
      const std::optional<Channels> channels = channels_of(rewriter_.module(), node);
      const bool is_long = channels && channels->count >= least_grouped_depth;
      group_ = is_long ? group_of(node) : 0;
      if (group_ == 0 || channels->count % group_ == 0)
        rewriter_.keep(node);
      else
        fill(node, *channels);
    }
    rewriter_.finish();
  }

 private:
  void fill(Node node, const Channels& channels) {
    rewriter_.begin(node, "");
    node.inputs[0] = padded(node.inputs[0]);
    node.inputs[1] = channels.is_reshaped ? matrix_of(channels) : weight_of(channels);
    rewriter_.keep(std::move(node));
  }

  Dim in_groups(Dim depth) {
    return floordiv(depth + integer(group_ - 1), integer(group_)) * integer(group_);
  }
  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }

  ValueId padded(ValueId x) {
    if (const auto known = padded_.find({x, group_}); known != padded_.end()) return known->second;
    TensorType type = rewriter_.type(x);
    std::vector<Dim> before(type.dims.size(), integer(0)), after = before;
    const Dim channels = type.dims.back();
    type.dims.back() = in_groups(channels);
    after.back() = type.dims.back() - channels;
    return padded_[{x, group_}] = rewriter_.emit(
               "pad", {x}, std::move(type), {{"before", before}, {"after", after}, {"value", 0.0}});
  }

  ValueId weight_of(const Channels& channels) {
    const auto [known, is_new] = weights_.try_emplace({channels.weight, group_});
    if (is_new) {
      const Value& weight = rewriter_.module().value(channels.weight);
      TensorType type = weight.type;
      *(type.dims.end() - 2) = in_groups(integer(channels.count));
      const std::string name = weight.name + ".padded";
      WeightSource source;
      source.kind = WeightSource::Kind::Padded;
      source.parts = {channels.weight};
      known->second = rewriter_.new_weight(name, std::move(type), std::move(source));
    }
    return known->second;
  }

  ValueId matrix_of(const Channels& channels) {
    const ValueId weight = weight_of(channels);
    const TensorType& type = rewriter_.type(weight);
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < type.dims.size(); ++i) rows *= *type.dims[i].constant();
    const std::vector<Dim> shape{integer(rows), type.dims.back()};
    return rewriter_.emit("reshape", {weight}, {type.dtype, shape}, {{"shape", shape}});
  }

  Rewriter rewriter_;
  std::int64_t group_ = 0;  ///< elements of one, of the product at hand
  std::map<std::pair<ValueId, std::int64_t>, ValueId> padded_, weights_;  ///< by value and group
};

}  // namespace

bool has_groups(const Node& node, Dim depth, std::int64_t group) {
  const std::optional<std::int64_t> count = depth.constant();
  if (node.op->id == OpId::Matmul)
    return count.value_or(least_grouped_depth) >= least_grouped_depth;
  return count && *count > 0 && *count % group == 0;
}

bool may_have_groups(const Module& module, const Node& node, std::int64_t group) {
  if (has_groups(node, module.value(node.inputs[0]).type.dims.back(), group)) return true;
  const std::optional<Channels> channels = channels_of(module, node);
  return channels && channels->count >= least_grouped_depth;
}

void fill_groups(Module& module, const std::function<std::int64_t(const Node&)>& group_of) {
  Filler(module).run(group_of);
}

}  // namespace dyn::graph
