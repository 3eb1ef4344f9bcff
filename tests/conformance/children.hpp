#pragma once
// Runs work in child processes, so that a crash or an endless loop harms nothing else.

#include <functional>
#include <string>

namespace dyn::conformance {

struct Ended {
  std::string output;   ///< the work's result; empty where it did not return
  std::string problem;  ///< "signal 11 (Segmentation fault)", "no end within 60 s"; empty where it
                        ///< ended by itself with code 0
};

/// Runs work(0) to work(count - 1), each in a fork of this process, which must have no other
/// threads; at most `jobs` at once. The first runs alone, so that figures which are measured once
/// and then kept are measured in quiet. `done` is called here, as they end. Throws Error(device)
/// where no process can be made.
void run_children(std::size_t count, int jobs, double limit_seconds,
                  const std::function<std::string(std::size_t)>& work,
                  const std::function<void(std::size_t, const Ended&)>& done);

}  // namespace dyn::conformance
