// Constants, identities, common subexpressions.

#include <bit>
#include <unordered_map>

#include "graph/fusion/group.hpp"
#include "graph/passes/identities.hpp"
#include "graph/passes/remove_dead.hpp"

namespace dyn::graph {
namespace {

/// Encodes as bytes everything that a node's result depends on.
std::string key_of(const Node& node) {
  std::string key = node.op->name;
  const auto put = [&key](std::uint64_t word) {
    key.append(reinterpret_cast<const char*>(&word), sizeof word);
  };
  for (const ValueId input : node.inputs) put(static_cast<std::uint64_t>(input));
  for (const Attr& attr : node.attrs) {
    key += attr.name;
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, bool>)
            put(value);
          else if constexpr (std::is_same_v<T, double>)
            put(std::bit_cast<std::uint64_t>(value));
          else if constexpr (std::is_same_v<T, std::string>)
            key += value + '\0';
          else if constexpr (std::is_same_v<T, Dim>)
            put(static_cast<std::uint64_t>(value.node()->id));
          else if constexpr (std::is_same_v<T, std::vector<Dim>>)
            for (const Dim dim : value) put(static_cast<std::uint64_t>(dim.node()->id));
        },
        attr.value);
  }
  return key;
}

/// Goes over the nodes once, in order; `same_[v]` is the value that stands for v from then on.
class Simplifier {
 public:
  explicit Simplifier(Module& module) : module_(module), rewriter_(module) {}

  void run() {
    for (std::size_t i = 0; i < module_.values.size(); ++i) merge_constant(static_cast<ValueId>(i));
    for (Node& node : module_.nodes) simplify_node(std::move(node));
    for (ValueId& output : module_.outputs) output = now(output);
    rewriter_.finish();
  }

 private:
  ValueId now(ValueId id) const {
    const auto replaced = same_.find(id);
    return replaced == same_.end() ? id : replaced->second;
  }

  void merge_constant(ValueId id) {
    const Value value = module_.value(id);
    if (value.kind != ValueKind::Constant || !value.type.dims.empty()) return;
    const ValueId shared = is_float(value.type.dtype)
                               ? rewriter_.number(value.type.dtype, value.constant)
                               : rewriter_.integer(value.type.dtype, value.integer);
    if (shared != id) same_[id] = shared;
  }

  void simplify_node(Node node) {
    for (ValueId& input : node.inputs) input = now(input);
    skip_inner_view(module_, node, [this](ValueId id) -> const Node* {
      const auto known = producers_.find(id);
      return known == producers_.end() ? nullptr : &known->second;
    });
    ValueId same = fold_constants(rewriter_, node);
    if (same == no_value) same = identity_of(module_, node);
    if (same == no_value) same = common(node);
    if (same != no_value) {
      same_[node.outputs[0]] = same;
      return;
    }
    if (slice_for_gather(rewriter_, node)) return;
    if (node.op->op_class == OpClass::View) producers_.emplace(node.outputs[0], node);
    rewriter_.keep(std::move(node));
  }

  /// Finds the result of an earlier node that computes the same.
  ValueId common(const Node& node) {
    if (node.outputs.size() != 1) return no_value;
    const auto [known, added] = computed_.try_emplace(key_of(node), node.outputs[0]);
    return added ? no_value : known->second;
  }

  Module& module_;
  Rewriter rewriter_;
  std::unordered_map<ValueId, ValueId> same_;
  std::unordered_map<ValueId, Node> producers_;  ///< of views
  std::unordered_map<std::string, ValueId> computed_;
};

}  // namespace

void simplify(Module& module) {
  Simplifier(module).run();
  remove_dead(module);
}

}  // namespace dyn::graph
