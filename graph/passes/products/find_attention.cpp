#include "graph/passes/products/find_attention.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/passes/remove_dead.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// The inputs of an attention, keys as they are found.
struct Found {
  ValueId q, keys, v, mask = no_value;
  bool keys_turned;  ///< keys are [..., D, Skv]
  double scale = 1;
};

class AttentionFinder {
 public:
  explicit AttentionFinder(Module& module)
      : module_(module), nodes_(module.nodes), rewriter_(module) {
    for (const Node& node : nodes_)
      for (const ValueId input : node.inputs) ++readers_[input];
    for (const ValueId output : module.outputs) ++readers_[output];
  }

  void run() {
    for (const Node& node : nodes_) {
      const std::optional<Found> found = attention_of(node);
      if (found)
        emit(node, *found);
      else
        rewriter_.keep(node);
    }
    rewriter_.finish();
  }

 private:
  const TensorType& type(ValueId id) const { return module_.value(id).type; }

  /// The node that computes a value for one reader.
  const Node* only_producer(ValueId id, OpId op) const {
    const int index = module_.value(id).producer;
    if (index < 0 || readers_.at(id) != 1) return nullptr;
    const Node& node = nodes_[static_cast<std::size_t>(index)];
    return node.op->id == op ? &node : nullptr;
  }

  std::optional<double> scalar(ValueId id) const {
    const Value& value = module_.value(id);
    if (value.kind != ValueKind::Constant || value.type.dtype != DType::f32) return std::nullopt;
    return value.constant;
  }

  /// The scores behind a factor.
  ValueId without_scale(ValueId scores, double& scale) const {
    if (const Node* const mul = only_producer(scores, OpId::Mul)) {
      for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
        if (const auto factor = scalar(mul->inputs[i])) {
          scale = *factor;
          return mul->inputs[1 - i];
        }
      }
    }
    if (const Node* const div = only_producer(scores, OpId::Div)) {
      if (const auto divisor = scalar(div->inputs[1])) {
        scale = 1 / *divisor;
        return div->inputs[0];
      }
    }
    return scores;
  }

  /// True where leading dims are equal, of as many axes: nothing is broadcast.
  bool are_alike(ValueId a, ValueId b) const {
    const std::vector<Dim>&of_a = type(a).dims, &of_b = type(b).dims;
    if (of_a.size() != of_b.size() || of_a.size() < 2) return false;
    for (std::size_t i = 0; i + 2 < of_a.size(); ++i) {
      if (prove_equal(of_a[i], of_b[i]) != true) return false;
    }
    return true;
  }

  std::optional<Found> scores_of(ValueId scores) const {
    Found found{no_value, no_value, no_value, no_value, false, 1};
    const Node* const add = only_producer(scores, OpId::Add);
    const std::vector<ValueId> bare = add != nullptr ? add->inputs : std::vector{scores};
    for (std::size_t i = 0; i < bare.size(); ++i) {
      found.mask = add != nullptr ? bare[1 - i] : no_value;
      found.scale = 1;
      const Node* const product = only_producer(without_scale(bare[i], found.scale), OpId::Matmul);
      if (product == nullptr || attr_boolean(*product, "transpose_a")) continue;
      found.q = product->inputs[0];
      found.keys = product->inputs[1];
      found.keys_turned = !attr_boolean(*product, "transpose_b");
      const bool is_mask = found.mask == no_value || is_part_of(found.mask, scores);
      if (is_mask && are_alike(found.q, found.keys) && found.scale != 0) return found;
    }
    return std::nullopt;
  }

  /// True where a mask broadcasts to the scores.
  bool is_part_of(ValueId mask, ValueId scores) const {
    const std::vector<Dim>&part = type(mask).dims, &all = type(scores).dims;
    if (part.size() > all.size()) return false;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i].constant() != 1 &&
          prove_equal(part[i], all[all.size() - part.size() + i]) != true)
        return false;
    }
    return true;
  }

  std::optional<Found> attention_of(const Node& node) const {
    if (node.op->id != OpId::Matmul || type(node.outputs[0]).dtype != DType::f32 ||
        attr_boolean(node, "transpose_a") || attr_boolean(node, "transpose_b"))
      return std::nullopt;
    const Node* const softmax = only_producer(node.inputs[0], OpId::Softmax);
    if (softmax == nullptr) return std::nullopt;
    const ValueId scores = softmax->inputs[0];
    const int rank = type(scores).rank();
    if (normalize_axis(attr_integer(*softmax, "axis"), rank) != rank - 1) return std::nullopt;
    std::optional<Found> found = scores_of(scores);
    if (!found) return std::nullopt;
    found->v = node.inputs[1];
    for (const ValueId input : {found->q, found->keys, found->v}) {
      if (type(input).dtype != DType::f32) return std::nullopt;
    }
    if (!are_alike(found->q, found->v)) return std::nullopt;
    return found;
  }

  void emit(const Node& node, const Found& found) {
    rewriter_.begin(node, "attention");
    const ValueId keys = found.keys_turned ? emit_turned(rewriter_, found.keys) : found.keys;
    std::vector<ValueId> inputs{found.q, keys, found.v};
    if (found.mask != no_value) inputs.push_back(found.mask);
    rewriter_.emit("attention", std::move(inputs), type(node.outputs[0]),
                   {{"scale", found.scale}, {"causal", false}, {"scales", false}}, node.outputs[0]);
  }

  Module& module_;
  const std::vector<Node> nodes_;
  std::map<ValueId, int> readers_;
  Rewriter rewriter_;
};

}  // namespace

void find_attention(Module& module) {
  const auto is_one = [](const Node& node) { return node.op->id == OpId::Softmax; };
  if (std::ranges::none_of(module.nodes, is_one)) return;
  AttentionFinder(module).run();
  remove_dead(module);
}

}  // namespace dyn::graph
