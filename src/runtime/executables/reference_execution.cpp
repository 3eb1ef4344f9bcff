#include "src/runtime/executables/reference_execution.hpp"

#include <cstring>
#include <vector>

#include "targets/reference/reference.hpp"

namespace dyn::runtime {
namespace {

void copy_to(const reference::Array& array, Tensor& tensor) {
  const Tensor result = reference::to_tensor(array);
  if (result.bytes() > 0) std::memcpy(tensor.raw(), result.raw(), result.bytes());
}

}  // namespace

void run_reference(const Model::Impl& model, const Plan& plan, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs, std::span<Tensor> states) {
  std::vector<reference::Array> arrays, kept;
  for (const Tensor& input : inputs) arrays.push_back(reference::from_tensor(input));
  for (const Tensor& state : states) kept.push_back(reference::from_tensor(state));
  const auto weight = [&](graph::ValueId id) {
    const graph::Value& value = model.module.value(id);
    return reference::from_tensor(
        Tensor::view(value.type.dtype, model.weights.plain(id), weight_shape(value)));
  };
  const std::vector<reference::Array> results =
      reference::run(model.module, plan.symbols, arrays, weight, reference::Precision::f32, kept);
  for (std::size_t i = 0; i < results.size(); ++i) copy_to(results[i], outputs[i]);
  for (std::size_t i = 0; i < kept.size(); ++i) copy_to(kept[i], states[i]);
}

}  // namespace dyn::runtime
