#include <unordered_map>

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

Convert find_converter(std::string_view op_type) {
  static const std::unordered_map<std::string_view, Convert> converters = [] {
    std::unordered_map<std::string_view, Convert> all;
    for (const auto family : {elementwise_operators,
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
                              unpool_operators}) {
      for (const auto& [name, convert] : family()) all.emplace(name, convert);
    }
    return all;
  }();
  const auto found = converters.find(op_type);
  return found == converters.end() ? nullptr : found->second;
}

}  // namespace dyn::onnx
