#include "src/runtime/executables/reference_execution.hpp"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "graph/ir/diagnostic.hpp"
#include "graph/ir/op.hpp"
#include "src/runtime/profile/profile_builder.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::runtime {
namespace {

void copy_to(const reference::Array& array, Tensor& tensor) {
  const Tensor result = reference::to_tensor(array);
  if (result.bytes() > 0) std::memcpy(tensor.raw(), result.raw(), result.bytes());
}

std::vector<reference::Array> arrays_of(const std::vector<Tensor>& tensors) {
  std::vector<reference::Array> arrays;
  for (const Tensor& tensor : tensors) arrays.push_back(reference::from_tensor(tensor));
  return arrays;
}

}  // namespace

ReferenceExecution::ReferenceExecution(const ReferenceExecutable& executable, CallPorts& ports,
                                       SessionState* session)
    : executable_(executable),
      ports_(ports),
      session_(session),
      binding_(executable.binder(), executable.plans(), ports, session,
               executable.info().memory_budget.get()) {}

void ReferenceExecution::run(const RunRequest& request) {
  if (session_ == nullptr) executable_.refuse_states();
  const auto compute = [&] { execute(request.control); };
  binding_.run(request.symbols, [&] {
    if (request.profile == nullptr || request.profile->builder == nullptr) return compute();
    request.profile->builder->on_host(executable_.module().name, "the whole graph", compute);
  });
}

void ReferenceExecution::execute(const RunControl* control) {
  const graph::Module& module = executable_.module();
  std::vector<Tensor> states;
  if (session_ != nullptr) states = session_->views();
  std::vector<reference::Array> kept = arrays_of(states);
  const auto weight = [&](graph::ValueId id) {
    const graph::Value& value = module.value(id);
    return reference::from_tensor(
        Tensor::view(value.type.dtype, executable_.weights().plain(id), weight_shape(value)));
  };
  const auto before = [&](const graph::Node& node) {
    check(control, [&] {
      return fmt::format("{} ({})", node.op->name, graph::place_of(module, node.location));
    });
  };
  const std::vector<reference::Array> results =
      reference::run(module, binding_.plan()->symbols, arrays_of(ports_.input_tensors()), weight,
                     reference::Precision::f32, kept, before);
  std::vector<Tensor> outputs = ports_.output_tensors();
  for (std::size_t i = 0; i < results.size(); ++i) copy_to(results[i], outputs[i]);
  for (std::size_t i = 0; i < kept.size(); ++i) copy_to(kept[i], states[i]);
}

}  // namespace dyn::runtime
