#include "src/python/bindings/operators/attribute_kinds.hpp"

#include <cstdint>
#include <variant>

namespace dyn::python {
namespace {

std::int64_t integer_of(const std::string& name, nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0
                               ? PyLong_AsLongLongAndOverflow(value.ptr(), &overflow)
                               : (overflow = 1);
  if (overflow != 0)
    user_error("the attribute '" + name + "' has " + to_utf8(nb::repr(value)) +
               ", which is no int of 64 bits");
  return number;
}

AttributeValue default_of(const std::string& name, nb::handle value) {
  if (PyBool_Check(value.ptr()) != 0) return value.is(Py_True);
  if (PyFloat_Check(value.ptr()) != 0) return PyFloat_AsDouble(value.ptr());
  if (PyLong_Check(value.ptr()) != 0) return integer_of(name, value);
  if (PyUnicode_Check(value.ptr()) != 0) return to_utf8(value);
  if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0)
    user_error("the attribute '" + name +
               "' has a default that is a bool, a float, an int, a str or a list of int, or one of "
               "these types where nodes must have it, not " +
               to_utf8(nb::repr(value)));
  std::vector<std::int64_t> integers;
  for (const nb::handle each : value) integers.push_back(integer_of(name, each));
  return integers;
}

struct ValueOf {
  const NodeAttributes& values;
  const std::string& name;
  nb::object operator()(bool) const { return nb::bool_(values.boolean(name)); }
  nb::object operator()(double) const { return nb::float_(values.number(name)); }
  nb::object operator()(const std::string&) const { return to_python(values.word(name)); }
  nb::object operator()(const Dim&) const { return nb::int_(values.integer(name)); }
  nb::object operator()(const Dims&) const {
    nb::list integers;
    for (const std::int64_t each : values.integers(name)) integers.append(each);
    return integers;
  }
};

}  // namespace

OperatorAttribute to_attribute(const std::string& name, nb::handle value) {
  if (value.is(&PyBool_Type)) return {name, false, true};
  if (value.is(&PyFloat_Type)) return {name, 0.0, true};
  if (value.is(&PyLong_Type)) return {name, 0, true};
  if (value.is(&PyUnicode_Type)) return {name, "none", true};
  if (value.is(&PyList_Type)) return {name, std::vector<std::int64_t>(), true};
  return {name, default_of(name, value), false};
}

nb::dict attribute_values(std::span<const OperatorAttribute> attributes,
                          const NodeAttributes& values) {
  nb::dict own;
  for (const OperatorAttribute& each : attributes)
    own[to_python(each.name)] = std::visit(ValueOf{values, each.name}, each.default_value.held());
  return own;
}

}  // namespace dyn::python
