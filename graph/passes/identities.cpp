#include "graph/passes/identities.hpp"

#include <algorithm>
#include <unordered_map>

namespace dyn::graph {
namespace {

bool same_dims(const TensorType& a, const TensorType& b) {
  return a.dims.size() == b.dims.size() &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(),
                    [](Dim x, Dim y) { return prove_equal(x, y) == true; });
}

bool is_constant(const Module& module, ValueId id, std::int64_t wanted) {
  const Value& value = module.value(id);
  if (value.kind != ValueKind::Constant) return false;
  return is_float(value.type.dtype) ? value.constant == static_cast<double>(wanted)
                                    : value.integer == wanted;
}

/// Operators with a neutral right (and, where they commute, left) operand.
struct Neutral {
  std::int64_t operand;
  bool commutes;
};
const std::unordered_map<OpId, Neutral> neutrals = {{OpId::Add, {0, true}},
                                                    {OpId::Sub, {0, false}},
                                                    {OpId::Mul, {1, true}},
                                                    {OpId::Div, {1, false}}};

ValueId neutral_identity(const Module& module, const Node& node) {
  const auto rule = neutrals.find(node.op->id);
  if (rule == neutrals.end()) return no_value;
  if (is_constant(module, node.inputs[1], rule->second.operand)) return node.inputs[0];
  if (rule->second.commutes && is_constant(module, node.inputs[0], rule->second.operand))
    return node.inputs[1];
  return no_value;
}

bool is_identity_transpose(const Node& node) {
  const auto perm = attr_integers(node, "perm");
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (*normalize_axis(perm[i], static_cast<int>(perm.size())) != static_cast<int>(i))
      return false;
  }
  return true;
}

bool has_unit_steps(const Node& node) {
  return std::ranges::all_of(attr_integers(node, "steps"),
                             [](std::int64_t step) { return step == 1; });
}

/// True where `node` returns its first input wherever both have the same dims.
bool is_identity_of_same_dims(const Node& node) {
  const OpId id = node.op->id;
  if (id == OpId::Reshape || id == OpId::Expand || id == OpId::Pad) return true;
  if (id == OpId::Transpose) return is_identity_transpose(node);
  if (id == OpId::Slice) return has_unit_steps(node);
  return id == OpId::Concat && node.inputs.size() == 1;
}

}  // namespace

ValueId identity_of(const Module& module, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return no_value;
  ValueId same = neutral_identity(module, node);
  const TensorType& type = module.value(node.outputs[0]).type;
  if (same == no_value && is_identity_of_same_dims(node)) same = node.inputs[0];
  if (same == no_value && node.op->id == OpId::Cast) same = node.inputs[0];
  if (same == no_value) return no_value;
  const TensorType& other = module.value(same).type;
  return other.dtype == type.dtype && same_dims(other, type) ? same : no_value;
}

void skip_inner_view(const Module& module, Node& node, const ProducerOf& producer_of) {
  if (node.op->id != OpId::Reshape && node.op->id != OpId::Transpose) return;
  const Node* inner = producer_of(node.inputs[0]);
  if (!inner || inner->op != node.op) return;
  if (node.op->id == OpId::Reshape) {
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

bool slice_for_gather(Rewriter& rewriter, const Node& node) {
  if (node.op->id != OpId::Gather) return false;
  const Module& module = rewriter.module();
  const Value& index = module.value(node.inputs[1]);
  if (index.kind != ValueKind::Constant || !index.type.dims.empty()) return false;
  TensorType type = rewriter.type(node.inputs[0]);
  const int axis = *normalize_axis(attr_integer(node, "axis"), type.rank());
  Dim& dim = type.dims[static_cast<std::size_t>(axis)];
  DimTable& dims = *module.dims;
  const Dim start = index.integer < 0 ? dim + index.integer : dims.constant(index.integer);
  if (prove_less_equal(dims.constant(0), start) != true || prove_less_equal(start + 1, dim) != true)
    return false;
  dim = dims.constant(1);
  rewriter.begin(node, node.origin);
  const ValueId slice = rewriter.emit("slice", {node.inputs[0]}, std::move(type),
                                      {{"axes", std::vector<Dim>{dims.constant(axis)}},
                                       {"starts", std::vector<Dim>{start}},
                                       {"ends", std::vector<Dim>{start + 1}}});
  const TensorType result = rewriter.type(node.outputs[0]);
  rewriter.emit("reshape", {slice}, result, {{"shape", result.dims}}, node.outputs[0]);
  return true;
}

}  // namespace dyn::graph
