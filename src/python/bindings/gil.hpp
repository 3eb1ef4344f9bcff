#pragma once
// The GIL, given back while dyn works, and taken by dyn's own threads.

#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// Where the interpreter has ended meanwhile, Python up to 3.13 ends the thread by unwinding its
/// stack, which must not pass through C++. Such a thread waits for the end of the process instead,
/// as in later Pythons.
[[noreturn]] void wait_for_end_of_process();

/// What a Python function gives. For threads of dyn and of the host alike, which the end of the
/// interpreter may meet in it. Throws nb::python_error.
nb::object call_with(nb::handle function, const nb::tuple& arguments);

template <class... Arguments>
nb::object call_python(nb::handle function, const Arguments&... arguments) {
  return call_with(function, nb::make_tuple(arguments...));
}

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) { wait_for_end_of_process(); }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// For any thread, also one that has the GIL.
class WithGil {
 public:
  WithGil() {
    try {
      state_ = PyGILState_Ensure();
    } catch (...) { wait_for_end_of_process(); }
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace dyn::python
