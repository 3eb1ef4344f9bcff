#include "src/python/bindings/host/failure.hpp"

#include <algorithm>
#include <utility>

namespace dyn::python {
namespace {

ErrorKind kind_of(nb::handle exception, ErrorKind otherwise) {
  const std::string name = text_of(exception.attr("kind"));
  for (const ErrorKind kind : {ErrorKind::user, ErrorKind::model, ErrorKind::unsupported,
                               ErrorKind::device, ErrorKind::internal, ErrorKind::cancelled})
    if (name == name_of(kind)) return kind;
  return otherwise;
}

}  // namespace

PythonFailure::~PythonFailure() {
  if (noted_.empty() || Py_IsInitialized() == 0) return;
  const WithGil gil;
  const nb::error_scope own_error;
  for (const Noted& each : noted_) Py_DECREF(each.exception);
}

void PythonFailure::note(nb::python_error& error, ErrorKind kind) {
  const nb::object exception = nb::borrow(error.value());
  std::vector<std::string> where;
  std::string words;
  if (PyObject_IsInstance(exception.ptr(),
                          nb::module_::import_("dyn.errors").attr("Error").ptr()) == 1) {
    kind = kind_of(exception, kind);
    words = text_of(exception.attr("message"));
    for (const nb::handle place : exception.attr("where")) where.push_back(text_of(place));
  } else {
    words = words_of(error);
  }
  constexpr std::size_t most_noted = 16;
  nb::object oldest;
  if (noted_.size() == most_noted) {
    oldest = nb::steal(noted_.front().exception);
    noted_.erase(noted_.begin());
  }
  noted_.push_back({nb::object(exception).release().ptr(), words});
  throw Error(kind, words, std::move(where));
}

void PythonFailure::raise(const Error& error) {
  const auto found = std::find_if(noted_.rbegin(), noted_.rend(), [&](const Noted& each) {
    return error.message().find(each.words) != std::string::npos;
  });
  if (found == noted_.rend()) return;
  const nb::object exception = nb::steal(found->exception);
  noted_.erase(std::next(found).base());
  if (PyErr_GivenExceptionMatches(exception.ptr(), PyExc_Exception) == 0)
    PyErr_SetObject(nb::handle(exception.type()).ptr(), exception.ptr());
  else
    raise_python(error, exception);
  throw nb::python_error();
}

}  // namespace dyn::python
