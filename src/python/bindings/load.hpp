#pragma once
// Loads of dyn.Graph.

#include <functional>
#include <string>

#include "src/python/bindings/graph_object.hpp"
#include "src/python/bindings/options.hpp"

namespace dyn::python {

/// The graph that `load` gives, made without the GIL. `source`: what messages call the model.
GraphObject loaded(const std::string& source, const LoadOptions& options,
                   const std::function<Graph()>& load);

/// Defines dyn.Graph's constructor, load(), from_text(), from_memory() and from_reader().
void define_loads(nb::class_<GraphObject>& own);

}  // namespace dyn::python
