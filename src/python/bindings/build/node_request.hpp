#pragma once
// A node that Python adds: op(name, x, w, axis=1).

#include <string>

#include "dyn/builder.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// None as an attribute: the node has none of that name.
struct NodeRequest {
  std::string op;
  Values inputs;
  Attributes attributes;
  std::string result;       ///< the keyword `result`: its name
  std::size_t results = 0;  ///< the keyword `results`: their number
};

/// From a call's arguments; op() has the keyword `result`, and ops() has `results`. Throws
/// Error(user) for an input that is no value, and for an attribute that is no bool, number, text,
/// dtype of NumPy or size, nor a sequence of sizes.
NodeRequest op_request(const nb::args& arguments, const nb::kwargs& keywords);
NodeRequest ops_request(const nb::args& arguments, const nb::kwargs& keywords);

}  // namespace dyn::python
