#pragma once
// dyn.Builder: a model made by a Python program.

#include <memory>

#include "src/python/bindings/build/building.hpp"

namespace dyn::python {

/// A dyn.Builder.
nb::object to_python(const std::shared_ptr<Building>& building);

void register_builder(nb::module_& module);

}  // namespace dyn::python
