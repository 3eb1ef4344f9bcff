// Moves transposes behind element-wise operators, reductions, concat, pad, slice and reshape.

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "graph/fusion/group.hpp"
#include "graph/ir/coord.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

using Perm = std::vector<std::size_t>;

/// Dim i of a value is dim perm[i] of the source.
struct Transposed {
  ValueId source;
  Perm perm;
};

class Sinker {
 public:
  explicit Sinker(Module& module) : module_(module), rewriter_(module) {}

  void run() {
    for (Node& node : module_.nodes) {
      note_transpose(node);
      if (!sink(node)) rewriter_.keep(std::move(node));
    }
    rewriter_.finish();
  }

 private:
  const std::vector<Dim>& dims(ValueId id) const { return rewriter_.type(id).dims; }
  Dim integer(std::size_t value) {
    return module_.dims->constant(static_cast<std::int64_t>(value));
  }

  void note_transpose(const Node& node) {
    if (node.op->id != OpId::Transpose) return;
    const Transposed* inner = transposed(node.inputs[0]);
    Transposed transposed{inner != nullptr ? inner->source : node.inputs[0], {}};
    const auto perm = attr_integers(node, "perm");
    for (const std::int64_t axis : perm) {
      const auto of_input =
          static_cast<std::size_t>(*normalize_axis(axis, static_cast<int>(perm.size())));
      transposed.perm.push_back(inner != nullptr ? inner->perm[of_input] : of_input);
    }
    // One that leaves the innermost axis in its place is a view that costs nothing.
    if (!transposed.perm.empty() && transposed.perm.back() + 1 != transposed.perm.size())
      transposed_.emplace(node.outputs[0], std::move(transposed));
  }

  const Transposed* transposed(ValueId id) const {
    const auto found = transposed_.find(id);
    return found == transposed_.end() ? nullptr : &found->second;
  }

  bool sink(const Node& node) {
    if (node.outputs.size() != 1 || node.inputs.empty()) return false;
    if (node.op->op_class == OpClass::Elementwise) return sink_elementwise(node);
    if (node.op->op_class == OpClass::Reduction) return sink_reduction(node);
    if (node.op->id == OpId::Concat) return sink_concat(node);
    if (node.op->id == OpId::Pad) return sink_pad(node);
    if (node.op->id == OpId::Slice) return sink_slice(node);
    if (node.op->id == OpId::Reshape) return sink_reshape(node);
    return false;
  }

  /// Emits `node` with other inputs and attributes. Its result has this type, and is transposed
  /// back to the old one.
  void give(const Node& node, std::vector<ValueId> inputs, std::vector<Attr> attrs,
            const Perm& perm) {
    const TensorType& old = rewriter_.type(node.outputs[0]);
    TensorType type{old.dtype, std::vector<Dim>(old.dims.size())};
    for (std::size_t i = 0; i < perm.size(); ++i) type.dims[perm[i]] = old.dims[i];
    Node moved = node;
    moved.inputs = std::move(inputs);
    moved.attrs = std::move(attrs);
    const bool in_place = std::ranges::is_sorted(perm);
    if (!in_place)
      moved.outputs = {
          rewriter_.result(module_.value(node.outputs[0]).name + ".turned", std::move(type))};
    const ValueId result = moved.outputs[0];
    rewriter_.keep(std::move(moved));
    if (in_place) return;
    rewriter_.begin(node, "");
    transpose(result, perm, node.outputs[0]);
    if (perm.back() + 1 != perm.size())
      transposed_.insert_or_assign(node.outputs[0], Transposed{result, perm});
  }

  ValueId transpose(ValueId x, const Perm& perm, ValueId output = no_value) {
    TensorType type{rewriter_.type(x).dtype, {}};
    std::vector<Dim> list;
    for (const std::size_t axis : perm) {
      type.dims.push_back(dims(x)[axis]);
      list.push_back(integer(axis));
    }
    return rewriter_.emit("transpose", {x}, std::move(type), {{"perm", std::move(list)}}, output);
  }

  /// Prepares an operand that broadcasts to a transposed value's dims so that it broadcasts to
  /// those of the value's source; gives nothing where that would transpose a large tensor.
  std::optional<ValueId> adapted(const Node& node, ValueId x, const Perm& perm) {
    const std::vector<Dim> own = dims(x);
    if (own.empty()) return x;
    const auto long_axes = std::ranges::count_if(own, [](Dim dim) { return dim.constant() != 1; });
    if (long_axes > 1 && module_.value(x).kind != ValueKind::Weight) return std::nullopt;
    std::vector<Dim> full(perm.size() - own.size(), integer(1));
    full.insert(full.end(), own.begin(), own.end());
    std::vector<Dim> shape(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) shape[perm[i]] = full[i];
    rewriter_.begin(node, "");
    const auto reshaped = [&](const std::vector<Dim>& to) {
      return rewriter_.emit("reshape", {x}, {rewriter_.type(x).dtype, to}, {{"shape", to}});
    };
    if (long_axes <= 1) return reshaped(shape);
    Perm inverse(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = i;
    return transpose(reshaped(full), inverse);
  }

  bool sink_elementwise(const Node& node) {
    const std::size_t rank = dims(node.outputs[0]).size();
    const Transposed* first = nullptr;
    for (const ValueId input : node.inputs) {
      if (const Transposed* candidate = transposed(input);
          candidate != nullptr && candidate->perm.size() == rank && first == nullptr)
        first = candidate;
    }
    if (first == nullptr) return false;
    const Perm perm = first->perm;
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const Transposed* other = transposed(input);
      const auto use = other != nullptr && other->perm == perm ? std::optional(other->source)
                                                               : adapted(node, input, perm);
      if (!use) return false;
      inputs.push_back(*use);
    }
    give(node, std::move(inputs), node.attrs, perm);
    return true;
  }

  bool sink_reduction(const Node& node) {
    const Transposed* input = transposed(node.inputs[0]);
    if (input == nullptr) return false;
    const Transposed of = *input;
    const std::size_t rank = of.perm.size();
    std::vector<bool> reduced(rank, false);  // by axis of the source
    std::vector<Dim> axes;
    const auto given = attr_integers(node, "axes");
    for (std::size_t i = 0; i < rank; ++i) {
      const bool named =
          given.empty() || std::ranges::any_of(given, [&](std::int64_t axis) {
            return *normalize_axis(axis, static_cast<int>(rank)) == static_cast<int>(i);
          });
      if (named) reduced[of.perm[i]] = true;
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (reduced[axis]) axes.push_back(integer(axis));
    }
    const bool keeps = attr_boolean(node, "keepdims");
    // Gives for each remaining axis, in the order of the result, its place among the remaining axes
    // of the source.
    Perm perm;
    for (const std::size_t axis : of.perm) {
      if (keeps)
        perm.push_back(axis);
      else if (!reduced[axis])
        perm.push_back(static_cast<std::size_t>(std::count(
            reduced.begin(), reduced.begin() + static_cast<std::ptrdiff_t>(axis), false)));
    }
    give(node, {of.source}, {{"axes", std::move(axes)}, {"keepdims", keeps}}, perm);
    return true;
  }

  bool sink_concat(const Node& node) {
    const Transposed* first = transposed(node.inputs[0]);
    if (first == nullptr) return false;
    const Perm perm = first->perm;
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const Transposed* part = transposed(input);
      if (part == nullptr || part->perm != perm) return false;
      inputs.push_back(part->source);
    }
    const auto axis = static_cast<std::size_t>(
        *normalize_axis(attr_integer(node, "axis"), static_cast<int>(perm.size())));
    give(node, std::move(inputs), {{"axis", integer(perm[axis])}}, perm);
    return true;
  }

  bool sink_pad(const Node& node) {
    const Transposed* input = transposed(node.inputs[0]);
    if (input == nullptr) return false;
    const Transposed of = *input;
    std::vector<Attr> attrs;
    for (const char* name : {"before", "after"}) {
      const std::vector<Dim> list = attr_dims(module_, node, name);
      std::vector<Dim> moved(list.size());
      for (std::size_t i = 0; i < list.size(); ++i) moved[of.perm[i]] = list[i];
      attrs.push_back({name, std::move(moved)});
    }
    attrs.push_back({"value", attr_number(node, "value")});
    give(node, {of.source}, std::move(attrs), of.perm);
    return true;
  }

  /// The axes that the reshape splits or joins, in the order of the source. Axes that are joined
  /// must be neighbours there. Where they are not, a transpose makes them so: it is the copy that
  /// the reshape would have made.
  bool sink_reshape(const Node& node) {
    const Transposed* input = transposed(node.inputs[0]);
    if (input == nullptr) return false;
    const Transposed of = *input;
    const std::vector<Dim> from = dims(node.inputs[0]), to = dims(node.outputs[0]);
    std::vector<ReshapeBlock> blocks = reshape_blocks(from, to);
    if (std::ranges::any_of(blocks, [](const ReshapeBlock& block) {
          return block.from.empty() || block.to.empty();
        }))
      return false;
    const auto place = [&](const ReshapeBlock& block) {
      return of.perm[static_cast<std::size_t>(block.from.back())];
    };
    std::ranges::sort(blocks, {}, place);
    Perm order, perm(to.size());  // first for the source's axes; then the places of the result's
                                  // axes in the new source's result
    std::vector<Dim> shape;
    std::vector<bool> seen(from.size(), false);
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      if (to[axis].constant() != 1) continue;
      perm[axis] = shape.size();
      shape.push_back(to[axis]);
    }
    for (const ReshapeBlock& block : blocks) {
      for (const int axis : block.from) order.push_back(of.perm[static_cast<std::size_t>(axis)]);
      for (const int axis : block.to) {
        perm[static_cast<std::size_t>(axis)] = shape.size();
        shape.push_back(to[static_cast<std::size_t>(axis)]);
      }
    }
    for (const std::size_t axis : order) seen[axis] = true;
    Perm all;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (!seen[axis]) all.push_back(axis);
    }
    all.insert(all.end(), order.begin(), order.end());
    rewriter_.begin(node, "");
    const bool in_order = std::ranges::is_sorted(order);
    const ValueId source = in_order ? of.source : transpose(of.source, all);
    give(node, {source}, {{"shape", shape}}, perm);
    return true;
  }

  bool sink_slice(const Node& node) {
    const Transposed* input = transposed(node.inputs[0]);
    if (input == nullptr) return false;
    const Transposed of = *input;
    std::vector<Attr> attrs = node.attrs;
    for (Attr& attr : attrs) {
      if (attr.name != "axes") continue;
      std::vector<Dim> axes;
      for (const std::int64_t axis : attr_integers(node, "axes"))
        axes.push_back(integer(of.perm[static_cast<std::size_t>(
            *normalize_axis(axis, static_cast<int>(of.perm.size())))]));
      attr.value = std::move(axes);
    }
    give(node, {of.source}, std::move(attrs), of.perm);
    return true;
  }

  Module& module_;
  Rewriter rewriter_;
  std::unordered_map<ValueId, Transposed> transposed_;
};

}  // namespace

void sink_transposes(Module& module) { Sinker(module).run(); }

}  // namespace dyn::graph
