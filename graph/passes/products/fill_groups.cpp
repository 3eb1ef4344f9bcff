#include "graph/passes/products/fill_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// Groups that are less than half full are no gain.
constexpr std::int64_t least_depth = 3;

/// The elements along which a product adds up lie along one axis of a weight.
struct Depth {
  ValueId weight;
  std::size_t axis;
  std::int64_t size;
  bool is_reshaped;  ///< the right side is the weight as a matrix: all axes before the last are one
};

bool is_product(const Node& node) {
  const OpId op = node.op->id;
  return op == OpId::Matmul || op == OpId::WindowMatmul || op == OpId::Conv;
}

std::optional<Depth> depth_of(const Module& module, const Node& node) {
  if (!is_product(node) || (node.op->id == OpId::Matmul && attr_boolean(node, "transpose_a")) ||
      (node.op->id == OpId::Conv && attr_integer(node, "groups") != 1))
    return std::nullopt;
  Depth depth{node.inputs[1], 0, 0, false};
  const Value* right = &module.value(depth.weight);
  const bool is_matrix = right->type.rank() == 2;
  if (right->producer >= 0) {
    const Node& view = module.nodes[static_cast<std::size_t>(right->producer)];
    if (view.op->id != OpId::Reshape) return std::nullopt;
    depth.weight = view.inputs[0];
    depth.is_reshaped = true;
    right = &module.value(depth.weight);
  }
  const auto rank = static_cast<std::size_t>(right->type.rank());
  if (right->kind != ValueKind::Weight || right->weight.kind == WeightSource::Kind::Blocks ||
      rank < 2 || (node.op->id != OpId::Conv && !is_matrix))
    return std::nullopt;
  const bool turned = node.op->id == OpId::Matmul && attr_boolean(node, "transpose_b");
  if (turned && depth.is_reshaped) return std::nullopt;
  depth.axis = turned ? 1 : rank - 2;
  const std::optional<std::int64_t> size = module.value(node.inputs[0]).type.dims.back().constant();
  if (!size || right->type.dims[depth.axis].constant() != size) return std::nullopt;
  depth.size = *size;
  return depth;
}

/// A matmul by a value that is no weight: the axes along which the two sides add up; none where
/// groups are no gain.
struct FreshDepth {
  std::size_t left, right;
};

std::optional<FreshDepth> fresh_depth_of(const Module& module, const Node& node) {
  if (node.op->id != OpId::Matmul) return std::nullopt;
  const TensorType &a = module.value(node.inputs[0]).type, &b = module.value(node.inputs[1]).type;
  const auto axis = [](const TensorType& type, bool last) {
    return static_cast<std::size_t>(type.rank() - (last ? 1 : 2));
  };
  const FreshDepth depth{axis(a, !attr_boolean(node, "transpose_a")),
                         axis(b, attr_boolean(node, "transpose_b"))};
  const bool is_short = a.dims[depth.left].constant().value_or(least_depth) < least_depth;
  return is_short ? std::nullopt : std::optional(depth);
}

class Filler {
 public:
  explicit Filler(Module& module) : rewriter_(module) {}

  void run(const std::function<std::int64_t(const Node&)>& group_of) {
    const std::vector<Node> nodes = rewriter_.module().nodes;
    for (const Node& node : nodes) {
      const std::optional<Depth> depth = depth_of(rewriter_.module(), node);
      const std::optional<FreshDepth> fresh =
          depth ? std::nullopt : fresh_depth_of(rewriter_.module(), node);
      group_ = depth || fresh ? group_of(node) : 0;
      if (group_ == 0)
        rewriter_.keep(node);
      else if (fresh)
        fill_both(node, *fresh);
      else if (depth->size >= least_depth && depth->size % group_ != 0)
        fill(node, *depth);
      else
        rewriter_.keep(node);
    }
    rewriter_.finish();
  }

 private:
  void fill(Node node, const Depth& depth) {
    rewriter_.begin(node, "");
    node.inputs[0] = padded(node.inputs[0], rewriter_.type(node.inputs[0]).dims.size() - 1);
    node.inputs[1] = depth.is_reshaped ? matrix_of(depth) : weight_of(depth);
    rewriter_.keep(std::move(node));
  }

  Dim in_groups(Dim depth) {
    return floordiv(depth + integer(group_ - 1), integer(group_)) * integer(group_);
  }
  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }

  void fill_both(Node node, const FreshDepth& depth) {
    rewriter_.begin(node, "");
    node.inputs[0] = padded(node.inputs[0], depth.left);
    node.inputs[1] = padded(node.inputs[1], depth.right);
    rewriter_.keep(std::move(node));
  }

  ValueId padded(ValueId x, std::size_t axis) {
    if (const auto known = padded_.find({x, axis, group_}); known != padded_.end())
      return known->second;
    TensorType type = rewriter_.type(x);
    const Dim depth = type.dims[axis];
    if (prove_multiple(depth, group_) == true) return x;
    std::vector<Dim> before(type.dims.size(), integer(0)), after = before;
    type.dims[axis] = in_groups(depth);
    after[axis] = type.dims[axis] - depth;
    return padded_[{x, axis, group_}] = rewriter_.emit(
               "pad", {x}, std::move(type), {{"before", before}, {"after", after}, {"value", 0.0}});
  }

  ValueId weight_of(const Depth& depth) {
    const auto [known, is_new] = weights_.try_emplace({depth.weight, depth.axis, group_});
    if (is_new) {
      const Value& weight = rewriter_.module().value(depth.weight);
      TensorType type = weight.type;
      type.dims[depth.axis] = in_groups(integer(depth.size));
      const std::string name = weight.name + ".padded";
      WeightSource source;
      source.kind = WeightSource::Kind::Padded;
      source.parts = {depth.weight};
      known->second = rewriter_.new_weight(name, std::move(type), std::move(source));
    }
    return known->second;
  }

  ValueId matrix_of(const Depth& depth) {
    const ValueId weight = weight_of(depth);
    const TensorType& type = rewriter_.type(weight);
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < type.dims.size(); ++i) rows *= *type.dims[i].constant();
    const std::vector<Dim> shape{integer(rows), type.dims.back()};
    return rewriter_.emit("reshape", {weight}, {type.dtype, shape}, {{"shape", shape}});
  }

  Rewriter rewriter_;
  std::int64_t group_ = 0;  ///< elements of one, of the product at hand
  /// By value, axis and group.
  std::map<std::tuple<ValueId, std::size_t, std::int64_t>, ValueId> padded_, weights_;
};

}  // namespace

bool may_have_groups(const Module& module, const Node& node, std::int64_t group) {
  if (!is_product(node)) return false;
  if (!depth_of(module, node) && fresh_depth_of(module, node)) return true;
  const std::optional<std::int64_t> channels =
      module.value(node.inputs[0]).type.dims.back().constant();
  if (!channels) return false;
  if (*channels > 0 && *channels % group == 0) return true;
  const std::optional<Depth> depth = depth_of(module, node);
  return depth && depth->size >= least_depth;
}

void fill_groups(Module& module, const std::function<std::int64_t(const Node&)>& group_of) {
  Filler(module).run(group_of);
}

}  // namespace dyn::graph
