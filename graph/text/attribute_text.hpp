#pragma once
// Numbers and attributes as the text IR writes them.

#include <string>

#include "graph/ir/op.hpp"

namespace dyn::graph {

/// The shortest text that reads back as the same double, always told from an integer: "1.0",
/// "1e-5", "-inf".
std::string format_number(double value);

/// " axis=0 keepdims=false": the attributes that differ from their defaults, in the registry's
/// order.
std::string format_attributes(const Node& node);

}  // namespace dyn::graph
