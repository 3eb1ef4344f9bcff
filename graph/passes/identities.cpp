#include "graph/passes/identities.hpp"

#include <algorithm>
#include <unordered_map>

namespace dyn::graph {
namespace {

bool same_dims(const TensorType& a, const TensorType& b) {
  return a.dims.size() == b.dims.size() &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), [](Dim x, Dim y) { return prove_equal(x, y) == true; });
}

bool is_constant(const Module& module, ValueId id, std::int64_t wanted) {
  const Value& value = module.value(id);
  if (value.kind != ValueKind::Constant) return false;
  return is_float(value.type.dtype) ? value.constant == static_cast<double>(wanted) : value.integer == wanted;
}

/// Operators with a neutral right (and, where they commute, left) operand.
struct Neutral {
  std::int64_t operand;
  bool commutes;
};
const std::unordered_map<std::string_view, Neutral> neutrals = {
    {"add", {0, true}}, {"sub", {0, false}}, {"mul", {1, true}}, {"div", {1, false}}};

ValueId neutral_identity(const Module& module, const Node& node) {
  const auto rule = neutrals.find(node.op->name);
  if (rule == neutrals.end()) return no_value;
  if (is_constant(module, node.inputs[1], rule->second.operand)) return node.inputs[0];
  if (rule->second.commutes && is_constant(module, node.inputs[0], rule->second.operand)) return node.inputs[1];
  return no_value;
}

bool is_identity_transpose(const Node& node) {
  const auto perm = attr_integers(node, "perm");
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (*normalize_axis(perm[i], static_cast<int>(perm.size())) != static_cast<int>(i)) return false;
  }
  return true;
}

bool has_unit_steps(const Node& node) {
  return std::ranges::all_of(attr_integers(node, "steps"), [](std::int64_t step) { return step == 1; });
}

/// Whether `node` gives its first input back wherever both have the same dims.
bool is_identity_of_same_dims(const Node& node) {
  const std::string& name = node.op->name;
  if (name == "reshape" || name == "expand" || name == "pad") return true;
  if (name == "transpose") return is_identity_transpose(node);
  if (name == "slice") return has_unit_steps(node);
  return name == "concat" && node.inputs.size() == 1;
}

}  // namespace

ValueId identity_of(const Module& module, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return no_value;
  ValueId same = neutral_identity(module, node);
  const TensorType& type = module.value(node.outputs[0]).type;
  if (same == no_value && is_identity_of_same_dims(node)) same = node.inputs[0];
  if (same == no_value && node.op->name == "cast") same = node.inputs[0];
  if (same == no_value) return no_value;
  const TensorType& other = module.value(same).type;
  return other.dtype == type.dtype && same_dims(other, type) ? same : no_value;
}

void skip_inner_view(const Module& module, Node& node, const ProducerOf& producer_of) {
  if (node.op->name != "reshape" && node.op->name != "transpose") return;
  const Node* inner = producer_of(node.inputs[0]);
  if (!inner || inner->op != node.op) return;
  if (node.op->name == "reshape") {
    node.attrs = {{"shape", module.value(node.outputs[0]).type.dims}};
  } else {
    const auto outer_perm = attr_integers(node, "perm"), inner_perm = attr_integers(*inner, "perm");
    const int rank = static_cast<int>(outer_perm.size());
    std::vector<Dim> perm;
    for (const std::int64_t axis : outer_perm) {
      const auto through = static_cast<std::size_t>(*normalize_axis(axis, rank));
      perm.push_back(module.dims->constant(*normalize_axis(inner_perm[through], rank)));
    }
    node.attrs = {{"perm", std::move(perm)}};
  }
  node.inputs = inner->inputs;
}

}  // namespace dyn::graph
