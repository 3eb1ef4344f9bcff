#include <fmt/format.h>

#include <unordered_map>

#include "dyn/error.hpp"
#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

const Conversion* find_conversion(std::string_view op_type) {
  static const std::unordered_map<std::string_view, Conversion> conversions = [] {
    std::unordered_map<std::string_view, Conversion> all;
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
                              unpool_operators,
                              transformer_operators,
                              attention_operators,
                              linear_attention_operators,
                              counting_operators}) {
      for (const Conversion& conversion : family()) {
        if (!all.emplace(conversion.name, conversion).second)
          throw Error(ErrorKind::internal,
                      fmt::format("operator {} has two conversions", conversion.name));
      }
    }
    return all;
  }();
  const auto found = conversions.find(op_type);
  return found == conversions.end() ? nullptr : &found->second;
}

}  // namespace dyn::onnx
