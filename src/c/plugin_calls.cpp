#include "src/c/plugin_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "src/c/building.hpp"
#include "src/c/plugin_node.hpp"

namespace dyn::c {
namespace {

/// Throws what a function of the plug-in has come to, where that is no success.
void check_outcome(int outcome, const dyn_plugin_node& node) {
  if (node.error) std::rethrow_exception(node.error);
  if (!node.message.empty()) user_error(node.message);
  if (outcome != 0) user_error(fmt::format("it failed with {} and gave no reason", outcome));
}

dyn_plugin_type type_for(const TensorType& type, dyn_plugin_node& node) {
  dyn_plugin_type plain{
      static_cast<dyn_plugin_dtype>(type.dtype), static_cast<std::uint32_t>(type.rank()), {}};
  for (std::size_t i = 0; i < type.rank(); ++i) plain.dims[i] = node.keep(type.dims[i]);
  return plain;
}

/// A type that a plug-in has filled in. Sizes are some that it was given.
TensorType type_from(const dyn_plugin_type& plain, const dyn_plugin_node& node) {
  if (plain.dtype < 0 || static_cast<std::size_t>(plain.dtype) >= all_dtypes().size())
    user_error(fmt::format("it gives the dtype {}, which is none", plain.dtype));
  if (plain.rank > DYN_PLUGIN_MAX_RANK)
    user_error(fmt::format("it gives a type of {} dims; at most {} are supported", plain.rank,
                           DYN_PLUGIN_MAX_RANK));
  TensorType type{static_cast<DType>(plain.dtype), {}};
  for (std::uint32_t i = 0; i < plain.rank; ++i) {
    const dyn_plugin_dim* dim = plain.dims[i];
    const bool is_known =
        std::ranges::any_of(node.dims, [&](const dyn_plugin_dim& each) { return &each == dim; });
    if (!is_known)
      user_error(fmt::format("dim {} of a type that it gives is {}", i,
                             dim == nullptr ? "NULL" : "no size that it was given"));
    if (dim->dim.high() < 0)
      user_error(fmt::format("it gives the negative size {}", dim->dim.to_string()));
    type.dims.push_back(dim->dim);
  }
  return type;
}

std::vector<dyn_plugin_tensor> plain_tensors(std::span<const Tensor> tensors) {
  std::vector<dyn_plugin_tensor> plain;
  for (const Tensor& tensor : tensors)
    plain.push_back({static_cast<dyn_plugin_dtype>(tensor.dtype()),
                     static_cast<std::uint32_t>(tensor.shape().size()), tensor.shape().data(),
                     const_cast<void*>(tensor.raw())});
  return plain;
}

}  // namespace

std::vector<TensorType> call_shape(const dyn_plugin_operator& from, const ShapeContext& context) {
  dyn_plugin_node node;
  node.attributes = &context.attributes();
  node.shape = &context;
  std::vector<dyn_plugin_type> inputs, outputs(from.output_count);
  for (const TensorType& type : context.inputs()) inputs.push_back(type_for(type, node));
  for (dyn_plugin_type& type : outputs) type = {-1, 0, {}};
  const dyn_plugin_shape_call call{sizeof(dyn_plugin_shape_call),
                                   static_cast<std::uint32_t>(inputs.size()),
                                   &plugin_host(),
                                   &node,
                                   inputs.data(),
                                   outputs.data()};
  check_outcome(from.shape(&call, from.data), node);
  std::vector<TensorType> types;
  for (const dyn_plugin_type& type : outputs) types.push_back(type_from(type, node));
  return types;
}

void call_kernel(const dyn_plugin_operator& from, const KernelContext& context) {
  dyn_plugin_node node;
  node.attributes = &context.attributes();
  const std::vector<dyn_plugin_tensor> inputs = plain_tensors(context.inputs()),
                                       outputs = plain_tensors(context.outputs());
  const dyn_plugin_kernel_call call{sizeof(dyn_plugin_kernel_call),
                                    static_cast<std::uint32_t>(inputs.size()),
                                    &plugin_host(),
                                    &node,
                                    inputs.data(),
                                    outputs.data()};
  check_outcome(from.kernel(&call, from.data), node);
}

Values call_definition(const dyn_plugin_operator& from, Builder& builder, const Values& inputs,
                       const NodeAttributes& attributes) {
  dyn_plugin_node node;
  node.attributes = &attributes;
  const Definition definition(builder, inputs);
  std::vector<dyn_value*> outputs(from.output_count);
  const dyn_plugin_definition_call call{sizeof(dyn_plugin_definition_call),
                                        static_cast<std::uint32_t>(inputs.size()),
                                        &plugin_host(),
                                        &node,
                                        dyn_get_api(DYN_API_VERSION),
                                        definition.builder(),
                                        definition.inputs().data(),
                                        outputs.data()};
  check_host(from.definition(&call, from.data), "definition");
  check_outcome(0, node);
  return definition.results(outputs);
}

}  // namespace dyn::c
