#pragma once
// Exceptions of Python objects that dyn calls: readers, operators.

#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "src/python/bindings/errors.hpp"
#include "src/python/bindings/gil.hpp"

namespace dyn::python {

/// The last exceptions of the Python objects that one load was given. A load or run may end in
/// another thread than the one in which an object failed, and a dyn::Error carries words alone.
/// Used by whoever holds the GIL.
class PythonFailure {
 public:
  PythonFailure() = default;
  ~PythonFailure();
  PythonFailure(const PythonFailure&) = delete;
  PythonFailure& operator=(const PythonFailure&) = delete;

  /// Throws the exception as an Error: one of dyn's keeps its kind, any other has `kind`.
  [[noreturn]] void note(nb::python_error& error, ErrorKind kind);

  /// Raises `error` in Python with the exception whose words it has as its cause, if there is one;
  /// what is no Exception of Python, such as KeyboardInterrupt, is raised itself.
  void raise(const Error& error);

 private:
  struct Noted {
    PyObject* exception;
    std::string words;
  };
  std::vector<Noted> noted_;  ///< by time; not many, as nobody may raise some
};

/// Gives what `work` gives, which is done without the GIL. An exception of a Python object
/// meanwhile becomes the cause of the error; `failure` nullptr: none is called.
template <class Work>
auto without_gil(PythonFailure* failure, const Work& work) {
  try {
    const WithoutGil no_gil;
    return work();
  } catch (const Error& error) {
    if (failure != nullptr) failure->raise(error);
    throw;
  }
}

/// Gives what `work` gives, which is done with the GIL, in whatever thread. A Python exception is
/// noted.
template <class Work>
auto with_gil(PythonFailure& failure, ErrorKind kind, const Work& work) {
  if (Py_IsInitialized() == 0) throw Error(ErrorKind::device, "Python has come to its end");
  const WithGil gil;
  try {
    return work();
  } catch (nb::python_error& error) { failure.note(error, kind); }
}

}  // namespace dyn::python
