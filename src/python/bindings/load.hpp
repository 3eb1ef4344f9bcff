#pragma once
// Loads of dyn.Graph.

#include "src/python/bindings/graph_object.hpp"

namespace dyn::python {

/// Defines dyn.Graph's constructor, load(), from_text(), from_memory() and from_reader().
void define_loads(nb::class_<GraphObject>& own);

}  // namespace dyn::python
