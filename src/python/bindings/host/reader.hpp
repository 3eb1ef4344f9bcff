#pragma once
// dyn::Reader over a Python object.

#include <memory>
#include <string>

#include "dyn/reader.hpp"
#include "src/python/bindings/errors.hpp"
#include "src/python/bindings/gil.hpp"

namespace dyn::python {

/// The last exception of a Python reader. A load may end in another thread than the one in which
/// its reader failed, and a dyn::Error carries words alone. Used by whoever holds the GIL.
class ReaderFailure {
 public:
  ReaderFailure() = default;
  ~ReaderFailure();
  ReaderFailure(const ReaderFailure&) = delete;
  ReaderFailure& operator=(const ReaderFailure&) = delete;

  /// Throws the exception as an Error: one of dyn's keeps its kind, any other is Error(device).
  [[noreturn]] void note(nb::python_error& error);

  /// Raises `error` in Python with the exception as its cause, where `error` has its words; what
  /// is no Exception of Python, such as KeyboardInterrupt, is raised itself.
  void raise(const Error& error);

 private:
  PyObject* exception_ = nullptr;
  std::string words_;
};

/// Calls `reader.size(name)`, `reader.read(name, offset, bytes)` and, where there are such,
/// `reader.in_place(name)` and `reader.identity(name)`. Throws Error(user) where the first two are
/// missing.
std::shared_ptr<Reader> make_reader(nb::handle reader,
                                    const std::shared_ptr<ReaderFailure>& failure);

/// Gives what `work` gives, which is done without the GIL. An exception of a reader meanwhile
/// becomes the cause of the error; `failure` nullptr: there is no reader.
template <class Work>
auto without_gil(ReaderFailure* failure, const Work& work) {
  try {
    const WithoutGil no_gil;
    return work();
  } catch (const Error& error) {
    if (failure != nullptr) failure->raise(error);
    throw;
  }
}

}  // namespace dyn::python
