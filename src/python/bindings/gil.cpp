#include "src/python/bindings/gil.hpp"

#include <unistd.h>

namespace dyn::python {

void wait_for_end_of_process() {
  for (;;) ::pause();
}

nb::object call_with(nb::handle function, const nb::tuple& arguments) {
  PyObject* result = nullptr;
  try {
    result = PyObject_Call(function.ptr(), arguments.ptr(), nullptr);
  } catch (...) { wait_for_end_of_process(); }  // nothing but the end of the thread comes here
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace dyn::python
