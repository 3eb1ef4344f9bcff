#pragma once
// Sequences and optional values: the import knows their tensors one by one, and the module does not
// know them.

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

/// nullptr where it is another operator, or SequenceMap, which has a body.
Convert find_sequence_conversion(const NodeProto& node);

}  // namespace dyn::onnx
