#include "graph/passes/rewriter.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace dyn::graph {

Rewriter::Rewriter(Module& module) : module_(module) {
  for (const Value& value : module.values) names_.take(value.name);
  for (const Node& node : module.nodes)
    next_origin_id_ = std::max(next_origin_id_, node.origin_id + 1);
  nodes_.reserve(module.nodes.size());
}

void Rewriter::begin(const Node& node, const std::string& origin) {
  location_ = node.location;
  hint_ = module_.value(node.outputs[0]).name;
  origin_ = origin;
  origin_id_ = origin.empty() ? -1 : next_origin_id_++;
}

ValueId Rewriter::result(const std::string& hint, TensorType type) {
  Value value;
  value.name = names_.unique(hint);
  value.type = std::move(type);
  value.location = location_;
  module_.values.push_back(std::move(value));
  return static_cast<ValueId>(module_.values.size()) - 1;
}

ValueId Rewriter::emit(std::string_view op, std::vector<ValueId> inputs, TensorType type,
                       std::vector<Attr> attrs, ValueId output) {
  Node node;
  node.op = find_op(op);
  node.inputs = std::move(inputs);
  node.outputs = {output == no_value ? result(fmt::format("{}.{}", hint_, op), std::move(type))
                                     : output};
  node.attrs = std::move(attrs);
  node.origin = origin_;
  node.origin_id = origin_id_;
  node.location = location_;
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs[0];
}

ValueId Rewriter::number(DType dtype, double number) {
  const auto [known, added] = constants_.try_emplace({dtype, std::bit_cast<std::uint64_t>(number)});
  if (!added) return known->second;
  Value value;
  value.name = names_.unique(fmt::format("%{}", module_.values.size()));
  value.kind = ValueKind::Constant;
  value.type.dtype = dtype;
  value.constant = number;
  module_.values.push_back(std::move(value));
  return known->second = static_cast<ValueId>(module_.values.size()) - 1;
}

ValueId Rewriter::integer(DType dtype, std::int64_t integer) {
  const auto [known, added] = constants_.try_emplace({dtype, static_cast<std::uint64_t>(integer)});
  if (!added) return known->second;
  Value value;
  value.name = names_.unique(fmt::format("%{}", module_.values.size()));
  value.kind = ValueKind::Constant;
  value.type.dtype = dtype;
  value.integer = integer;
  module_.values.push_back(std::move(value));
  return known->second = static_cast<ValueId>(module_.values.size()) - 1;
}

ValueId Rewriter::joined_weight(const std::string& hint, TensorType type,
                                std::vector<ValueId> parts) {
  WeightSource source;
  source.kind = WeightSource::Kind::Parts;
  source.parts = std::move(parts);
  return new_weight(hint, std::move(type), std::move(source));
}

ValueId Rewriter::new_weight(const std::string& hint, TensorType type, WeightSource source) {
  const ValueId id = result(hint, std::move(type));
  becomes_weight(id, std::move(source));
  return id;
}

void Rewriter::becomes_weight(ValueId result, WeightSource source) {
  Value& value = module_.value(result);
  value.kind = ValueKind::Weight;
  value.weight = std::move(source);
}

void Rewriter::finish() {
  module_.nodes = std::move(nodes_);
  for (Value& value : module_.values) value.producer = -1;
  for (std::size_t i = 0; i < module_.nodes.size(); ++i) {
    const auto& outputs = module_.nodes[i].outputs;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      module_.value(outputs[k]).producer = static_cast<int>(i);
      module_.value(outputs[k]).output_index = static_cast<int>(k);
    }
  }
}

const Node* producer_of(const Module& module, ValueId id) {
  const int index = module.value(id).producer;
  return index < 0 ? nullptr : &module.nodes[static_cast<std::size_t>(index)];
}

const Node* producer_of(const Module& module, ValueId id, OpId op) {
  const Node* const node = producer_of(module, id);
  return node != nullptr && node->op->id == op ? node : nullptr;
}

ValueId emit_turned(Rewriter& rewriter, ValueId x) {
  TensorType turned = rewriter.type(x);
  std::vector<Dim> perm;
  for (int axis = 0; axis < turned.rank(); ++axis)
    perm.push_back(rewriter.module().dims->constant(axis));
  std::iter_swap(perm.end() - 1, perm.end() - 2);
  std::iter_swap(turned.dims.end() - 1, turned.dims.end() - 2);
  return rewriter.emit("transpose", {x}, std::move(turned), {{"perm", std::move(perm)}});
}

}  // namespace dyn::graph
