#pragma once
// dyn.Value: a tensor of a model that is being built, or a number.

#include <memory>
#include <optional>
#include <string>

#include "src/python/bindings/build/building.hpp"
#include "src/python/bindings/build/node_request.hpp"

namespace dyn::python {

nb::object to_python(const Value& value, const std::shared_ptr<Building>& building);
/// A tuple.
nb::object to_python(const Values& values, const std::shared_ptr<Building>& building);

/// From a dyn.Value, or a number of Python or NumPy. nullopt for others.
std::optional<Value> value_of(nb::handle object);
/// Throws Error(user) in place of nullopt.
Value known_value(nb::handle object);
/// The same for each of a tuple or list, from number `first` on.
Values known_values(nb::handle objects, std::size_t first = 0);

/// A bool, an int or a float of Python from a number of it or of NumPy; invalid: it is none.
nb::object plain_number(nb::handle object);

/// Throws Error(user) where it is no str; `what` has it: "a result".
std::string name_for(const char* what, nb::handle name);

/// The node's result, or its results as a tuple.
nb::object add_op(const std::shared_ptr<Building>& building, const NodeRequest& node);
nb::object add_ops(const std::shared_ptr<Building>& building, const NodeRequest& node);

/// Registers dyn.Value, and op() and ops() for values.
void register_value(nb::module_& module);

}  // namespace dyn::python
