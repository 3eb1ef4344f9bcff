#pragma once
// dyn.Port: a named input or output, as the model declares it.

#include <memory>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// The ports of a model, asked for once.
struct Ports {
  explicit Ports(const Graph& graph) : inputs(graph.inputs()), outputs(graph.outputs()) {}
  std::vector<PortInfo> inputs, outputs;
};

/// "ids: i64[B, S], mask: f32[B, S]"
std::string summary(const std::vector<PortInfo>& ports);

void register_port(nb::module_& module);

}  // namespace dyn::python
