#include "src/python/bindings/bytes.hpp"

namespace dyn::python {

std::optional<std::string> path_of(nb::handle object) {
  if (PyUnicode_Check(object.ptr()) == 0 && !nb::hasattr(object, "__fspath__")) return std::nullopt;
  const nb::object name = nb::module_::import_("os").attr("fsencode")(object);
  const auto bytes = nb::borrow<nb::bytes>(name);
  std::string path(bytes.c_str(), bytes.size());
  if (path.find('\0') != std::string::npos) user_error("a path has a byte of 0");
  return path;
}

}  // namespace dyn::python
