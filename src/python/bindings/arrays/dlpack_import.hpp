#pragma once
// Tensors of other libraries, through DLPack.

#include "src/python/bindings/arrays/given.hpp"

namespace dyn::python {

/// The tensor of an object with __dlpack__. Throws Error(user) for a device whose memory the host
/// cannot read.
Given from_dlpack(nb::handle object, const Role& role, Layout layout);

}  // namespace dyn::python
