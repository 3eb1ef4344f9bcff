#pragma once
// Converters of operators by family, each under its ONNX name.

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Gives a value to every output that may be read. Throws Error(model) for a broken node,
/// Error(unsupported) for a valid one that dyn cannot run.
using Convert = void (*)(NodeContext&);

/// Inputs of f16 and bf16 reach the conversion so.
enum class Halves : std::uint8_t {
  AsGiven,
  /// The conversion computes in f32, and its results are rounded once: for an operator that several
  /// dyn operators make up, of which each would round.
  InF32,
};

struct Conversion {
  std::string_view name;  ///< of the ONNX operator
  Convert convert;
  Halves halves = Halves::AsGiven;
  std::size_t results_like = 0;  ///< with InF32, the input whose dtype float results have
};

using Family = std::vector<Conversion>;

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
Family transformer_operators();
Family attention_operators();
Family linear_attention_operators();
Family counting_operators();

// Of the domain ai.onnx.ml, in the folder ml.
Family tree_operators();
Family linear_operators();
Family feature_operators();
Family label_operators();

/// Converts a Range whose bounds depend on data.
void convert_steps(NodeContext& node);

/// Operators of ONNX Runtime's domain com.microsoft, which its optimiser and exporters write.
Family fused_product_operators();
Family gelu_operators();
Family skip_normalization_operators();
Family head_attention_operators();
Family group_query_operators();
Family quantized_element_operators();
Family integer_product_operators();
Family packed_weight_operators();
Family quantized_recurrence_operators();
Family rearranged_operators();

/// The conversion of the node's operator in its domain; nullptr where dyn has no such operator.
const Conversion* find_conversion(const NodeProto& node);

}  // namespace dyn::onnx
