#pragma once
// Device "reference": runs by the oracle's plain loops, for tests.

#include <span>

#include "dyn/tensor.hpp"
#include "src/runtime/load/model_impl.hpp"

namespace dyn::runtime {

/// Computes all outputs into `outputs`, which have the plan's shapes, and changes `states`, in the
/// model's order.
void run_reference(const Model::Impl& model, const Plan& plan, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs, std::span<Tensor> states);

}  // namespace dyn::runtime
