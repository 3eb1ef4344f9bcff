#pragma once
// Attributes of operators: Python's values, and dyn's.

#include <span>
#include <string>
#include <vector>

#include "dyn/operator.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// From a default value (1.0, 1, True, "mean", [1, 2]), which says the kind, or from the type of a
/// required attribute (float, int, bool, str, list). Throws Error(user) for others.
OperatorAttribute to_attribute(const std::string& name, nb::handle value);

/// A node's attributes by name, as a dict.
nb::dict attribute_values(std::span<const OperatorAttribute> attributes,
                          const NodeAttributes& values);

}  // namespace dyn::python
