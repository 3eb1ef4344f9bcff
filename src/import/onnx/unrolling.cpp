#include "src/import/onnx/unrolling.hpp"

#include <fmt/format.h>

namespace dyn::onnx {

const GraphProto& body_of(const NodeContext& context) {
  const AttributeProto* attribute = context.attribute("body");
  if (attribute == nullptr || !attribute->has_g()) context.fail("it needs the graph body");
  return attribute->g();
}

Operands bound(const NodeContext& context, const GraphProto& body, const OperandList& values) {
  if (static_cast<std::size_t>(body.input_size()) != values.size())
    context.fail(
        fmt::format("its body has {} inputs, and gets {}", body.input_size(), values.size()));
  Operands operands;
  for (int i = 0; i < body.input_size(); ++i)
    operands[body.input(i).name()] = values[static_cast<std::size_t>(i)];
  return operands;
}

void count_step(NodeContext& context, const GraphProto& body, GraphState& state) {
  state.unrolled_nodes += body.node_size() + 1;
  if (state.unrolled_nodes > most_unrolled_nodes)
    context.fail_unsupported(fmt::format(
        "loops of more than {} nodes in all steps are not supported", most_unrolled_nodes));
}

}  // namespace dyn::onnx
