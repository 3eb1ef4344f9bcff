#pragma once
// Nodes on tensors of texts.

#include <limits>

#include "src/import/onnx/node_context.hpp"
#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

/// True where an input is a tensor of texts.
bool reads_texts(const NodeContext& context);

/// The operand of a tensor of texts in the file, whose elements are gone from it afterwards. Throws
/// Error(model) where dims do not fit.
Operand texts_operand(TensorProto& proto);
/// The operand of these texts.
Operand texts_operand(const TextVector& texts, std::vector<std::int64_t> dims);

inline constexpr std::size_t every_input = std::numeric_limits<std::size_t>::max();

/// Which inputs of an operator hold texts that it moves or compares, and whether its outputs hold
/// them too.
struct TextPorts {
  std::string_view op;
  std::size_t first = 0, last = 0;
  bool gives_texts = true;
};
/// nullptr: the operator does something else with texts, or cannot have them.
const TextPorts* text_ports(std::string_view op);

/// Converts a node that reads texts: one that only moves or compares elements does that with their
/// places. Others read the texts of their first input themselves, or are refused.
void convert_texts(GraphState& state, NodeProto& node, NodeContext& context,
                   const Conversion& conversion);

}  // namespace dyn::onnx
