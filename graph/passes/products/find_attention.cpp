#include "graph/passes/products/find_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/passes/remove_dead.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

/// The inputs of an attention, keys as they are found.
struct Found {
  ValueId q = no_value, keys = no_value, v = no_value, mask = no_value;
  bool keys_turned = false;  ///< keys are [..., D, Skv]
  double scale = 1;
  /// Instead of `mask`: scores that a condition chooses are this number.
  ValueId condition = no_value;
  bool is_hidden = false;  ///< they are so where it is true
  double hidden = 0;
};

/// A number in place of a score hides it as the number added to it does: the score is less than its
/// last digit.
constexpr double most_hidden = -1e30;

class AttentionFinder {
 public:
  explicit AttentionFinder(Module& module) : module_(module), rewriter_(module) {
    for (const Node& node : module_.nodes)
      for (const ValueId input : node.inputs) ++readers_[input];
    for (const ValueId output : module.outputs) ++readers_[output];
  }

  void run() {
    for (const Node& node : module_.nodes) {
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
    return readers_.at(id) == 1 ? producer_of(module_, id, op) : nullptr;
  }

  /// The number that all elements of a constant of one element are.
  std::optional<double> scalar(ValueId id) const {
    const Value& value = module_.value(id);
    if (value.type.dtype != DType::f32) return std::nullopt;
    if (value.kind == ValueKind::Constant) return value.constant;
    if (value.kind != ValueKind::Weight || value.weight.kind != WeightSource::Kind::Splat ||
        !std::ranges::all_of(value.type.dims, [](Dim dim) { return dim.constant() == 1; }))
      return std::nullopt;
    return value.weight.splat;
  }

  /// The scores, or one of their two factors, behind a number that multiplies or divides them.
  ValueId without_scale(ValueId scaled, double& scale) const {
    if (const Node* const mul = only_producer(scaled, OpId::Mul)) {
      for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
        const auto factor = scalar(mul->inputs[i]);
        if (factor && type(mul->inputs[1 - i]).rank() == type(scaled).rank()) {
          scale *= *factor;
          return mul->inputs[1 - i];
        }
      }
    }
    if (const Node* const div = only_producer(scaled, OpId::Div)) {
      const auto divisor = scalar(div->inputs[1]);
      if (divisor && type(div->inputs[0]).rank() == type(scaled).rank()) {
        scale /= *divisor;
        return div->inputs[0];
      }
    }
    return scaled;
  }

  /// Queries, keys and scale of a product that nobody else reads.
  bool find_factors(ValueId product, Found& found) const {
    found.scale = 1;
    const Node* const matmul = only_producer(without_scale(product, found.scale), OpId::Matmul);
    if (matmul == nullptr || attr_boolean(*matmul, "transpose_a")) return false;
    found.q = without_scale(matmul->inputs[0], found.scale);
    found.keys = without_scale(matmul->inputs[1], found.scale);
    found.keys_turned = !attr_boolean(*matmul, "transpose_b");
    if (const Node* const turn = producer_of(module_, found.keys, OpId::Transpose);
        found.keys_turned && turn != nullptr && exchanges_last_two(*turn)) {
      found.keys = turn->inputs[0];
      found.keys_turned = false;
    }
    return are_alike(found.q, found.keys) && found.scale != 0 && std::isfinite(found.scale);
  }

  static bool exchanges_last_two(const Node& transpose) {
    std::vector<std::int64_t> perm = attr_integers(transpose, "perm");
    if (perm.size() < 2) return false;
    std::swap(perm.back(), perm[perm.size() - 2]);
    for (std::size_t i = 0; i < perm.size(); ++i)
      if (perm[i] != static_cast<std::int64_t>(i)) return false;
    return true;
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
    Found found;
    const Node* const add = only_producer(scores, OpId::Add);
    const std::vector<ValueId> bare = add != nullptr ? add->inputs : std::vector{scores};
    for (std::size_t i = 0; i < bare.size(); ++i) {
      found.mask = add != nullptr ? bare[1 - i] : no_value;
      const bool is_mask = found.mask == no_value || is_part_of(found.mask, scores);
      if (is_mask && find_factors(bare[i], found)) return found;
    }
    return chosen_scores_of(scores);
  }

  /// Scores of which a condition makes some a number that hides them.
  std::optional<Found> chosen_scores_of(ValueId scores) const {
    const Node* const where = only_producer(scores, OpId::Where);
    if (where == nullptr || !is_part_of(where->inputs[0], scores)) return std::nullopt;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      const auto number = scalar(where->inputs[i]);
      if (!number || !(*number <= most_hidden)) continue;
      Found found;
      found.condition = where->inputs[0];
      found.is_hidden = i == 1;
      found.hidden = *number;
      if (find_factors(where->inputs[3 - i], found)) return found;
    }
    return std::nullopt;
  }

  /// The softmax behind shares. A `where` that makes 0 of NaN is left out: attention gives 0 where
  /// a row sees no key.
  const Node* softmax_of(ValueId shares) const {
    if (const Node* const softmax = only_producer(shares, OpId::Softmax)) return softmax;
    const Node* const where = only_producer(shares, OpId::Where);
    if (where == nullptr || scalar(where->inputs[1]) != 0.0) return nullptr;
    const Node* const is_nan = only_producer(where->inputs[0], OpId::IsNan);
    const bool is_guard = is_nan != nullptr && is_nan->inputs[0] == where->inputs[2] &&
                          readers_.at(where->inputs[2]) == 2;
    return is_guard ? producer_of(module_, where->inputs[2], OpId::Softmax) : nullptr;
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
    const Node* const softmax = softmax_of(node.inputs[0]);
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
    if (found.condition != no_value) inputs.push_back(emit_mask(found));
    rewriter_.emit("attention", std::move(inputs), type(node.outputs[0]),
                   {{"scale", found.scale}, {"causal", false}, {"scales", false}}, node.outputs[0]);
  }

  ValueId emit_mask(const Found& found) {
    ValueId seen = rewriter_.number(DType::f32, 0),
            hidden = rewriter_.number(DType::f32, found.hidden);
    if (found.is_hidden) std::swap(seen, hidden);
    return rewriter_.emit("where", {found.condition, seen, hidden},
                          {DType::f32, type(found.condition).dims});
  }

  Module& module_;
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
