#pragma once
// Tensors that Python gives: memory of NumPy, of torch and of others, without copies where it can
// be.

#include <memory>
#include <string>
#include <string_view>

#include "dyn/tensor.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// Keeps memory that a Python object has lent. Made and destroyed by whoever holds the GIL.
class Loan {
 public:
  Loan() = default;
  virtual ~Loan() = default;
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
};

struct Given {
  Tensor tensor;
  std::unique_ptr<Loan> loan;  ///< nullptr: the tensor owns its memory
};

/// The name of an object in messages: "input 'x'".
struct Role {
  const char* what;
  std::string_view name;  ///< empty: it has none
  std::string text() const;
};

/// The fate of memory that is not dense in row-major order, or not aligned for its elements.
enum class Layout {
  copy,   ///< the tensor is a dense copy; lists and numbers become tensors too
  refuse  ///< Error(user): a copy would not show what the caller writes later
};

/// A view of the memory of anything that speaks the buffer protocol or DLPack, or a copy as
/// `layout` says. `wanted`: what Python's own lists and numbers become, where NumPy allows it among
/// kinds of one sort. Throws Error(user) for a device other than the host, for an element type that
/// dyn does not have, and for what is no array; its message begins with the role.
Given given(nb::handle object, const Role& role, Layout layout, DType wanted);

}  // namespace dyn::python
