#pragma once
// Texts at a model's inputs and outputs, as NumPy's arrays.

#include "dyn/texts.hpp"
#include "src/python/bindings/errors.hpp"
#include "src/python/bindings/port_object.hpp"

namespace dyn::python {

/// The tensor for an input of texts, from an array or list of str or bytes. Throws Error(user)
/// where an element is neither.
Tensor encode(TextCoder& coder, const PortInfo& port, nb::handle array);

/// An array of str, of NumPy's dtype object, which cuts nothing off.
nb::object decode(const TextCoder& coder, const PortInfo& port, const Tensor& tensor);

}  // namespace dyn::python
