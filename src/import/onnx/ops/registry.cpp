#include <unordered_map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {
namespace {

using Conversions = std::unordered_map<std::string_view, Conversion>;
using Families = std::vector<Family (*)()>;

/// An operator belongs to its domain alone.
const std::vector<std::pair<std::string_view, Families>>& families_by_domain() {
  static const std::vector<std::pair<std::string_view, Families>> families{
      {"",
       {elementwise_operators,
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
        counting_operators}},
      {"ai.onnx.ml", {tree_operators, linear_operators, feature_operators, label_operators}}};
  return families;
}

Conversions joined(const Families& families) {
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

}  // namespace

const Conversion* find_conversion(const std::string& domain, std::string_view op_type) {
  static const std::unordered_map<std::string_view, Conversions> by_domain = [] {
    std::unordered_map<std::string_view, Conversions> all;
    for (const auto& [name, families] : families_by_domain()) all.emplace(name, joined(families));
    return all;
  }();
  const auto conversions = by_domain.find(is_standard(domain) ? std::string_view() : domain);
  if (conversions == by_domain.end()) return nullptr;
  const auto found = conversions->second.find(op_type);
  return found == conversions->second.end() ? nullptr : &found->second;
}

}  // namespace dyn::onnx
