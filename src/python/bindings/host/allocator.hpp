#pragma once
// dyn::Allocator over a Python object.

#include <memory>

#include "dyn/allocator.hpp"
#include "src/python/bindings/host/failure.hpp"

namespace dyn::python {

/// Calls `allocator.allocate(bytes, alignment)`, keeps the memory that it gives while it is in use,
/// and calls `allocator.deallocate(memory)` afterwards, where there is such. Throws Error(user)
/// where the first is missing.
std::shared_ptr<Allocator> make_allocator(nb::handle allocator,
                                          std::shared_ptr<PythonFailure> failure);

}  // namespace dyn::python
