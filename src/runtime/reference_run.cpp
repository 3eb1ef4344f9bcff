#include "src/runtime/reference_run.hpp"

#include <cstring>
#include <vector>

#include "targets/reference/reference.hpp"

namespace dyn::runtime {

void run_reference(const Model::Impl& model, const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<reference::Array> arrays;
  for (const Tensor& input : inputs) arrays.push_back(reference::from_tensor(input));
  const auto weight = [&](graph::ValueId id) {
    const graph::Value& value = model.module.value(id);
    return reference::from_tensor(Tensor::view(value.type.dtype, model.weights.plain(id), weight_shape(value)));
  };
  const std::vector<reference::Array> results =
      reference::run(model.module, plan.symbols, arrays, weight, reference::Precision::f32);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor result = reference::to_tensor(results[i]);
    if (result.bytes() > 0) std::memcpy(outputs[i].raw(), result.raw(), result.bytes());
  }
}

}  // namespace dyn::runtime
