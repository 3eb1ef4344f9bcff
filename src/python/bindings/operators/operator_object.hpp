#pragma once
// dyn.Operator: an operator of a Python program.

#include <memory>

#include "dyn/operator_set.hpp"
#include "src/python/bindings/host/failure.hpp"

namespace dyn::python {

/// From a list of dyn.Operator; `name` is the option's. What their functions raise is noted in
/// `failure`. Throws Error(user).
Operators to_operators(const char* name, nb::handle operators,
                       const std::shared_ptr<PythonFailure>& failure);

void register_operator(nb::module_& module);

}  // namespace dyn::python
