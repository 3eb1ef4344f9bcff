#pragma once
// Texts of a node's inputs in another list than theirs.

#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/texts/text_list.hpp"

namespace dyn::onnx {

/// A list that has the texts of all inputs from `first` to `end`. Fails where one of them holds
/// numbers.
TextListPtr common_list(NodeContext& node, std::size_t first, std::size_t end);

/// The places in `list`, a common_list(), of an operand's texts.
Operand places_in(NodeContext& node, const Operand& given, const TextList& list);

/// For each text of the node's first input its place in `keys`, the first of equal ones; the number
/// of keys where it is none.
TensorExpr places_in_keys(NodeContext& node, const TextVector& keys);

/// For each of `keys` the place that the first input has for it; a number that is no element there
/// for those that the input cannot hold.
Integers elements_of_keys(NodeContext& node, const TextVector& keys);

/// Gives a tensor of texts: those of `texts` at `places`.
void give_texts(const TensorExpr& places, const TextVector& texts);

}  // namespace dyn::onnx
