#pragma once
// Python objects that dyn keeps.

#include "src/python/bindings/gil.hpp"

namespace dyn::python {

/// An object that any thread may let go of. Made by whoever holds the GIL.
class SharedObject {
 public:
  explicit SharedObject(nb::object own) : object_(own.release().ptr()) {}
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    if (Py_IsInitialized() == 0) return;
    const WithGil gil;
    const nb::error_scope own_error;
    Py_DECREF(object_);
  }
  nb::handle get() const { return {object_}; }

 private:
  PyObject* object_;
};

}  // namespace dyn::python
