#pragma once
// Converters of operators by family, each under its ONNX name.

#include <string_view>
#include <utility>
#include <vector>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Gives a value to every output that may be read. Throws Error(model) for a broken node,
/// Error(unsupported) for a valid one that dyn cannot run.
using Convert = void (*)(NodeContext&);
using Family = std::vector<std::pair<std::string_view, Convert>>;

Family elementwise_operators();
Family activation_operators();
Family constant_operators();
Family contraction_operators();
Family normalization_operators();
Family reduction_operators();
Family shape_operators();
Family view_operators();
Family indexed_operators();
Family conv_pool_operators();
Family transposed_conv_operators();
Family place_operators();
Family selection_operators();
Family loss_operators();
Family padding_operators();
Family rearrangement_operators();
Family group_normalization_operators();
Family resize_operators();
Family grid_operators();
Family einsum_operators();
Family signal_operators();
Family region_operators();
Family quantization_operators();
Family quantized_product_operators();
Family host_operators();
Family recurrence_operators();
Family deform_conv_operators();
Family unpool_operators();

/// Converts a Range whose bounds depend on data.
void convert_steps(NodeContext& node);

/// nullptr where dyn has no such operator.
Convert find_converter(std::string_view op_type);

}  // namespace dyn::onnx
