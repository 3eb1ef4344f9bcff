#include "src/python/bindings/build/node_request.hpp"

#include "src/python/bindings/arrays/dtypes.hpp"
#include "src/python/bindings/build/dim_expr.hpp"
#include "src/python/bindings/build/value_object.hpp"

namespace dyn::python {
namespace {

/// A class such as numpy.int64, or an object such as numpy.dtype("int64").
bool is_dtype(nb::handle object) {
  if (PyType_Check(object.ptr()) != 0) return true;
  const int is =
      PyObject_IsInstance(object.ptr(), nb::module_::import_("numpy").attr("dtype").ptr());
  if (is < 0) throw nb::python_error();
  return is == 1;
}

AttributeValue attribute_value(nb::handle object) {
  if (const nb::object number = plain_number(object); number.is_valid()) {
    if (PyBool_Check(number.ptr()) != 0) return number.is(Py_True);
    if (PyFloat_Check(number.ptr()) != 0) return PyFloat_AsDouble(number.ptr());
    return known_dim(number);
  }
  if (PyUnicode_Check(object.ptr()) != 0) return to_utf8(object);
  if (PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0)
    return dims_of("the sizes", object);
  if (const auto dim = dim_of(object)) return *dim;
  if (is_dtype(object)) return to_dtype(object);
  user_error("it is a bool, a number, a str, a size, or a list or tuple of sizes, not " +
             described(object));
}

std::size_t results_of(nb::handle number) {
  const std::int64_t results = whole_number("the number of results", number);
  if (results < 0) user_error("a node has no " + std::to_string(results) + " results");
  return static_cast<std::size_t>(results);
}

void set_attribute(NodeRequest& request, const std::string& name, nb::handle value) {
  try {
    request.attributes.push_back({name, attribute_value(value)});
  } catch (const Error& error) { throw error.within("the attribute '" + name + "'"); }
}

/// `own`: the keyword that is no attribute.
NodeRequest request_of(const nb::args& arguments, const nb::kwargs& keywords, const char* own) {
  if (arguments.size() == 0 || PyUnicode_Check(nb::handle(arguments[0]).ptr()) == 0)
    user_error("the first argument is the name of an operator, a str");
  NodeRequest request{to_utf8(arguments[0]), {}, {}, {}};
  for (const auto& [key, value] : keywords) {
    const std::string name = to_utf8(key);
    if (value.is_none()) continue;
    if (name != own)
      set_attribute(request, name, value);
    else if (name == "results")
      request.results = results_of(value);
    else
      request.result = name_for("a result", value);
  }
  request.inputs = known_values(arguments, 1);
  return request;
}

}  // namespace

NodeRequest op_request(const nb::args& arguments, const nb::kwargs& keywords) {
  return request_of(arguments, keywords, "result");
}

NodeRequest ops_request(const nb::args& arguments, const nb::kwargs& keywords) {
  return request_of(arguments, keywords, "results");
}

}  // namespace dyn::python
