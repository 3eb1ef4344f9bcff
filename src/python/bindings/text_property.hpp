#pragma once
// Texts of a model as properties of Python's objects.

#include <string>

#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// "<dyn.TYPE text>"
inline nb::object repr_of(const char* type, const std::string& text) {
  return to_python("<dyn." + std::string(type) + " " + text + ">");
}

/// A property with a text of the model.
template <auto member, class Object>
void define_text(nb::class_<Object>& own, const char* name, const char* signature,
                 const char* doc = "") {
  own.def_prop_ro(
      name, [](const Object& self) { return to_python(self.*member); }, nb::sig(signature), doc);
}

}  // namespace dyn::python
