#pragma once
// dyn.Tensor: a tensor as Python holds it.

#include <memory>
#include <utility>

#include "src/python/bindings/arrays/given.hpp"

namespace dyn::python {

struct TensorObject {
  explicit TensorObject(Tensor own, std::unique_ptr<Loan> lent = nullptr)
      : tensor(std::move(own)), loan(std::move(lent)) {}
  Tensor tensor;
  std::unique_ptr<Loan> loan;  ///< of memory that the tensor does not own
};

/// nullptr where the object is no dyn.Tensor, or one whose __init__ was never called.
const TensorObject* tensor_of(nb::handle object);
/// Throws Error(user) in place of nullptr.
const TensorObject& known_tensor(nb::handle object);

/// An array of NumPy over the tensor's memory, which lives as long as the array. Throws
/// Error(unsupported) as numpy_dtype() does.
nb::object to_numpy(nb::handle tensor_object);

/// The same of a tensor that owns its memory; a dyn.Tensor where NumPy itself has no such dtype.
nb::object to_array(const Tensor& tensor);

/// A tuple.
nb::object to_python(const Shape& shape);

void register_tensor(nb::module_& module);

}  // namespace dyn::python
