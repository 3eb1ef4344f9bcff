#pragma once
// close(), and the `with` block that ends with it.

#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// `Object` has close(), after which its other functions throw.
template <class Object>
void define_close(nb::class_<Object>& own, const char* doc) {
  own.def("close", &Object::close, doc)
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](Object& self, const nb::args&) { self.close(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
}

}  // namespace dyn::python
