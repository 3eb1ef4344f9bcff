#pragma once
// dyn::Reader over a Python object.

#include <memory>

#include "dyn/reader.hpp"
#include "src/python/bindings/host/failure.hpp"

namespace dyn::python {

/// Calls `reader.size(name)`, `reader.read(name, offset, bytes)` and, where there are such,
/// `reader.in_place(name)` and `reader.identity(name)`. Throws Error(user) where the first two are
/// missing.
std::shared_ptr<Reader> make_reader(nb::handle reader,
                                    const std::shared_ptr<PythonFailure>& failure);

}  // namespace dyn::python
