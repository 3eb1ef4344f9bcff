#pragma once
// Counts what a test program executed, and prints the counts when it ends as lines "note: ...",
// which tests/run.sh shows.

#include <chrono>
#include <cstdint>
#include <string>

namespace dyn::testing {

/// One execution on the emulator, from construction to destruction, of `kernel` ("tensor cores,
/// bf16").
class EmulatorRun {
 public:
  explicit EmulatorRun(std::string kernel);
  ~EmulatorRun();
  EmulatorRun(const EmulatorRun&) = delete;
  EmulatorRun& operator=(const EmulatorRun&) = delete;
  /// Counts the run under this edge of its sizes or forms as well, where `met`.
  void edge(const std::string& name, bool met = true) const;

 private:
  std::string kernel_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace dyn::testing
