#pragma once
// Threads that help with runs, borrowed from oneTBB for a short time.

#include <atomic>
#include <memory>
#include <vector>

namespace dyn::runtime {

/// Where helpers look for work. Must be safe to call from many threads.
class Workplace {
 public:
  virtual ~Workplace() = default;
  /// Does what there is to do now; false where there was nothing.
  virtual bool help(int helper) = 0;
};

/// At most `count` helpers (and no more than oneTBB has workers) exist at a time, waiting in oneTBB's queue or working. A helper
/// leaves when it found nothing to do for spin_limit. Nobody ever waits for a helper to come.
class Helpers {
 public:
  Helpers(int count, std::weak_ptr<Workplace> workplace);
  /// Helpers that are still on their way find the workplace gone.
  ~Helpers();

  int count() const noexcept;
  /// Sees to it that `wanted` helpers (at most count()) are here or on their way. Cheap where they are.
  void call(int wanted);

 private:
  struct Shared;
  struct Arena;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace dyn::runtime
