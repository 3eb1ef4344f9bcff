#pragma once
// A command that a signal ends in its own time.

#include <csignal>

namespace dyn::cli {

/// While it exists, the first SIGINT or SIGTERM is noted, and a second one ends the process as
/// usual. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came; 0: none.
  static int caught() noexcept;

 private:
  struct sigaction interrupt_{}, terminate_{};  ///< what was there before
};

}  // namespace dyn::cli
