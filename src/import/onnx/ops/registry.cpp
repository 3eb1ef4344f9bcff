#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {
namespace {

using Conversions = std::unordered_map<std::string_view, Conversion>;

Conversions joined(std::initializer_list<Family (*)()> families) {
  Conversions all;
  for (const auto family : families) {
    for (const Conversion& conversion : family()) {
      if (!all.emplace(conversion.name, conversion).second)
        throw Error(ErrorKind::internal,
                    fmt::format("operator {} has two conversions", conversion.name));
    }
  }
  return all;
}

const Conversions& standard_operators() {
  static const Conversions conversions = joined({elementwise_operators,
                                                 activation_operators,
                                                 constant_operators,
                                                 contraction_operators,
                                                 normalization_operators,
                                                 reduction_operators,
                                                 shape_operators,
                                                 view_operators,
                                                 indexed_operators,
                                                 conv_pool_operators,
                                                 transposed_conv_operators,
                                                 place_operators,
                                                 selection_operators,
                                                 loss_operators,
                                                 padding_operators,
                                                 rearrangement_operators,
                                                 group_normalization_operators,
                                                 resize_operators,
                                                 grid_operators,
                                                 einsum_operators,
                                                 signal_operators,
                                                 region_operators,
                                                 quantization_operators,
                                                 quantized_product_operators,
                                                 host_operators,
                                                 recurrence_operators,
                                                 deform_conv_operators,
                                                 unpool_operators,
                                                 transformer_operators,
                                                 attention_operators,
                                                 linear_attention_operators,
                                                 counting_operators});
  return conversions;
}

const Conversions& learning_operators() {
  static const Conversions conversions =
      joined({tree_operators, linear_operators, feature_operators, label_operators});
  return conversions;
}

const Conversions& microsoft_operators() {
  static const Conversions conversions =
      joined({fused_product_operators, gelu_operators, skip_normalization_operators,
              head_attention_operators, group_query_operators, quantized_element_operators,
              integer_product_operators, packed_weight_operators, quantized_recurrence_operators,
              rearranged_operators});
  return conversions;
}

/// Operators of com.microsoft that are the newest standard ones of the same name.
constexpr std::string_view shared_operators[] = {
    "DequantizeLinear", "GatherND",       "GridSample", "Pad",
    "QLinearConv",      "QuantizeLinear", "Range",      "Trilu"};

/// nullptr for a domain that is not known.
const Conversions* operators_of(const std::string& domain) {
  if (is_standard(domain)) return &standard_operators();
  if (domain == learning_domain) return &learning_operators();
  return domain == microsoft_domain ? &microsoft_operators() : nullptr;
}

}  // namespace

const Conversion* find_conversion(const NodeProto& node) {
  const Conversions* conversions = operators_of(node.domain());
  if (conversions == nullptr) return nullptr;
  if (conversions != &standard_operators() &&
      std::ranges::find(shared_operators, node.op_type()) != std::end(shared_operators))
    conversions = &standard_operators();
  const auto found = conversions->find(node.op_type());
  return found == conversions->end() ? nullptr : &found->second;
}

}  // namespace dyn::onnx
