#pragma once
// Several pieces of work, each of which is done whatever the others throw.

#include <exception>
#include <utility>

namespace dyn::runtime {

/// Not thread-safe.
class FirstError {
 public:
  template <class Work>
  void attempt(const Work& work) {
    try {
      work();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  /// Throws what the first work that failed has thrown; does nothing where none has.
  void rethrow() {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::exception_ptr first_;
};

}  // namespace dyn::runtime
