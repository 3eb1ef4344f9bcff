#pragma once
// A library as the protocol sees it.

#include <functional>
#include <memory>
#include <string>

#include "src/peer/problem.hpp"
#include "targets/vendor/library.hpp"

namespace dyn::peer {

using vendor::Library;

/// A problem ready to run; copies use operands of their own.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs every copy once.
  virtual void run() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string version() const = 0;
  /// Throws Unsupported where the library cannot do it, and where its result is wrong.
  virtual std::unique_ptr<Runner> prepare(const Problem& problem) = 0;
};

/// Opens a known library by name, or a file, whose functions tell what it is. Throws Unsupported
/// where it is missing or unknown.
std::unique_ptr<Backend> open_backend(const std::string& library, int threads);

std::unique_ptr<Backend> open_onednn(Library library, int threads);
std::unique_ptr<Backend> open_blas(Library library, int threads);

}  // namespace dyn::peer
