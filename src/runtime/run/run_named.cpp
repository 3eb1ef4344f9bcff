#include "src/runtime/run/run_named.hpp"

#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {

Outputs run_named(const Model& model, CallState& call, const NamedTensors& inputs,
                  const RunControl& control) {
  std::vector<bool> given(model.inputs().size());
  for (const auto& [name, tensor] : inputs) {
    const std::size_t index = call.input_index(name);
    if (given[index]) throw Error(ErrorKind::user, fmt::format("input '{}' is given twice", name));
    given[index] = true;
    call.set_input(index, tensor);
  }
  call.run(control);
  NamedTensors outputs;
  for (std::size_t i = 0; i < model.outputs().size(); ++i)
    outputs.emplace_back(model.outputs()[i].name, call.output(i));
  return Outputs(std::move(outputs));
}

}  // namespace dyn::runtime
