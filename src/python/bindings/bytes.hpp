#pragma once
// Bytes and paths that Python gives.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// Contiguous bytes of any object that lends some. Made and destroyed by whoever holds the GIL.
class Bytes {
 public:
  /// Throws Error(user) where it lends none: "`what` a str, not bytes".
  Bytes(nb::handle object, const std::string& what) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) == 0) return;
    PyErr_Clear();
    user_error(what + " " + described(object) + ", not bytes");
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  std::string_view text() const { return {static_cast<const char*>(view_.buf), size()}; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), size()};
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }
  Py_buffer view_{};
};

/// nullopt where the object is no path.
std::optional<std::string> path_of(nb::handle object);

}  // namespace dyn::python
