#pragma once
// A shared library opened at run time: a build needs none of its headers, and it may be missing.

#include <stdexcept>
#include <string>
#include <vector>

namespace dyn::vendor {

/// The library cannot do the request, or cannot be used at all; the message is the reason.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Library {
 public:
  /// The first of the files that can be opened. Throws Unsupported with the loader's message for
  /// the last.
  explicit Library(const std::vector<std::string>& files);

  const std::string& file() const noexcept { return file_; }
  bool has(const char* symbol) const;

  /// Throws Unsupported where the library lacks it.
  template <class Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }

 private:
  void* address(const char* symbol) const;

  std::string file_;
  void* handle_ = nullptr;  ///< never closed: thread pools of such libraries do not survive it
};

}  // namespace dyn::vendor
