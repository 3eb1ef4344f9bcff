#include "src/python/bindings/build/dim_expr.hpp"

#include <string>

namespace dyn::python {
namespace {

/// dyn.DimExpr
struct DimObject {
  Dim dim;
  DimScopePointer scope;
};

const DimObject* dim_object(nb::handle object) {
  return nb::isinstance<DimObject>(object) && nb::inst_ready(object)
             ? nb::inst_ptr<DimObject>(object)
             : nullptr;
}

Dim sum_of(const Dim& a, const Dim& b) { return a + b; }
Dim difference_of(const Dim& a, const Dim& b) { return a - b; }
Dim product_of(const Dim& a, const Dim& b) { return a * b; }

using Combine = Dim (*)(const Dim&, const Dim&);

template <Combine combine>
nb::object combined(nb::handle a, nb::handle b) {
  return to_python(combine(known_dim(a), known_dim(b)), scope_of(a, b));
}

/// For operators, which leave what is no size to the other operand.
template <Combine combine, bool swapped>
nb::object combined_or_not(nb::handle self, nb::handle other) {
  const auto dim = dim_of(other);
  if (!dim) return nb::borrow(Py_NotImplemented);
  const Dim own = known_dim(self);
  return to_python(swapped ? combine(*dim, own) : combine(own, *dim), scope_of(self, other));
}

template <Combine combine>
void define_operator(nb::class_<DimObject>& own, const std::string& name) {
  const auto signature = [&](const std::string& full) {
    return "def " + full + "(self, other: int | DimExpr) -> int | DimExpr";
  };
  const std::string plain = "__" + name + "__", swapped = "__r" + name + "__";
  own.def(plain.c_str(), combined_or_not<combine, false>, nb::sig(signature(plain).c_str()));
  own.def(swapped.c_str(), combined_or_not<combine, true>, nb::sig(signature(swapped).c_str()));
}

nb::object equal(nb::handle self, nb::handle other) {
  const auto dim = dim_of(other);
  return dim ? nb::object(nb::bool_(known_dim(self) == *dim)) : nb::borrow(Py_NotImplemented);
}

std::string text_of_dim(nb::handle self) {
  const DimObject* const own = dim_object(self);
  if (own == nullptr) return "a dim";
  own->scope->check();
  return own->dim.to_string();
}

}  // namespace

nb::object to_python(const Dim& dim, const DimScopePointer& scope) {
  if (const auto constant = dim.constant()) return nb::int_(*constant);
  return nb::cast(DimObject{dim, scope});
}

nb::object to_python(const Dims& dims, const DimScopePointer& scope) {
  nb::list sizes;
  for (const Dim& dim : dims) sizes.append(to_python(dim, scope));
  return nb::tuple(sizes);
}

std::optional<Dim> dim_of(nb::handle object) {
  if (const DimObject* own = dim_object(object)) {
    own->scope->check();
    return own->dim;
  }
  if (PyIndex_Check(object.ptr()) == 0 || PyBool_Check(object.ptr()) != 0) return std::nullopt;
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) {
    nb::python_error error;
    if (error.matches(PyExc_TypeError)) return std::nullopt;  // an array of several elements
    throw error;
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) user_error("the size " + text_of(number) + " has more than 64 bits");
  return Dim(value);
}

Dim known_dim(nb::handle object) {
  if (const auto dim = dim_of(object)) return *dim;
  user_error("a size is an int or a dyn.DimExpr, not " + described(object));
}

Dims dims_of(const std::string& what, nb::handle object) {
  PyObject* const iterator = PyObject_GetIter(object.ptr());
  if (iterator == nullptr) {
    nb::python_error error;
    if (!error.matches(PyExc_TypeError)) throw error;
    user_error(what + " are a sequence of int and dyn.DimExpr, not " + described(object));
  }
  const nb::object held = nb::steal(iterator);
  Dims dims;
  while (PyObject* const next = PyIter_Next(iterator)) dims.push_back(known_dim(nb::steal(next)));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return dims;
}

std::int64_t whole_number(const std::string& what, nb::handle object) {
  const auto dim = dim_of(object);
  if (!dim || !dim->constant()) user_error(what + " is an int, not " + to_utf8(nb::repr(object)));
  return *dim->constant();
}

DimScopePointer scope_of(nb::handle a, nb::handle b) {
  for (const nb::handle own : {a, b})
    if (const DimObject* dim = dim_object(own)) return dim->scope;
  return nullptr;
}

void register_dim_expr(nb::module_& module) {
  nb::class_<DimObject> own(
      module, "DimExpr",
      "A size that depends on a model's dims, as a dyn.Builder and a shape function have it:\n"
      "+ - * // and % with others and with int, and min() and max() below. There is no order: a\n"
      "size has many values. Those of an operator's functions are of use until these return.");
  define_operator<sum_of>(own, "add");
  define_operator<difference_of>(own, "sub");
  define_operator<product_of>(own, "mul");
  define_operator<dyn::floordiv>(own, "floordiv");
  define_operator<dyn::mod>(own, "mod");
  own.def_static("min", combined<dyn::min>, nb::arg("a").none(), nb::arg("b").none(),
                 nb::sig("def min(a: int | DimExpr, b: int | DimExpr) -> int | DimExpr"))
      .def_static("max", combined<dyn::max>, nb::arg("a").none(), nb::arg("b").none(),
                  nb::sig("def max(a: int | DimExpr, b: int | DimExpr) -> int | DimExpr"))
      .def("__eq__", equal, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object) -> bool"),
           "True where both are the same expression once they are simplified.")
      .def(
          "__hash__", [](nb::handle self) { return nb::hash(to_python(text_of_dim(self))); },
          nb::sig("def __hash__(self) -> int"))
      .def_prop_ro(
          "low", [](nb::handle self) { return known_dim(self).low(); },
          "A lower bound of its values.")
      .def_prop_ro(
          "high",
          [](nb::handle self) {
            const std::int64_t high = known_dim(self).high();
            return high == DimRange().high ? nb::none() : nb::object(nb::int_(high));
          },
          nb::sig("def high(self) -> int | None"), "An upper bound; None: there is none.")
      .def(
          "__str__", [](nb::handle self) { return to_python(text_of_dim(self)); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__",
          [](nb::handle self) { return to_python("<dyn.DimExpr " + text_of_dim(self) + ">"); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace dyn::python
