#pragma once
// The memory of a dyn.Tensor for readers of the buffer protocol and of DLPack.

#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// Slots of the type dyn.Tensor.
const PyType_Slot* buffer_slots();

/// Tensor.__dlpack__
nb::object to_dlpack(nb::handle self, nb::handle max_version, nb::handle device, nb::handle copy);

}  // namespace dyn::python
