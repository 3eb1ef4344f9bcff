#pragma once
// Threads that help with the runs of all graphs of this process, borrowed from oneTBB, or from the
// host, for a short time.

#include <memory>

#include "dyn/executor.hpp"
#include "src/runtime/run/team.hpp"

namespace dyn::runtime {

/// One set for the process, and one for each executor of the host's, for as long as there are
/// graphs that use it. At most as many helpers as oneTBB has workers, or the executor's concurrency
/// says, exist at a time, waiting in a queue there or working; each looks at the teams of all runs
/// in flight, and leaves when it found nothing to do for spin_limit, or when callers need its
/// processor. Nobody ever waits for a helper to come. Thread-safe.
class Helpers {
 public:
  /// The process's set, made where there is none. `threads`: of a run that will want it, its caller
  /// included.
  static std::shared_ptr<Helpers> of_process(int threads) { return of(nullptr, threads); }
  /// The same for the threads of an executor; nullptr: oneTBB's.
  static std::shared_ptr<Helpers> of(const std::shared_ptr<Executor>& executor, int threads);
  /// Helpers that are still here leave; teams live until the last has gone.
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// A caller's run, while it lasts.
  class InFlight {
   public:
    /// With more than one thread the run has a team: `preferred` (its last one, or nullptr) where
    /// that is free, else another. May allocate where more runs are in flight than ever.
    InFlight(Helpers& helpers, int threads, Team*& preferred);
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    /// The stage in chunks, on at most `threads` threads.
    void run(const Stage& stage, int threads);

   private:
    Helpers& helpers_;
    const int threads_;
    Team* team_ = nullptr;
  };

  /// Sums over all teams. Only for tests, while nothing runs.
  StageCounts counts() const;
  /// How many helpers are here or on their way.
  int present() const noexcept;
  /// Whether no helper of any set is here or on its way. Tasks that nobody has taken yet lie in
  /// oneTBB's memory, where leak checkers do not look.
  static bool all_have_gone() noexcept;
  /// How many teams there are: as many as runs were ever in flight at once.
  int teams() const noexcept;

 private:
  struct Shared;
  struct Visit;
  struct Task;
  struct LentTask;
  struct Arena;
  Helpers(std::shared_ptr<Executor> executor, int count, int processors);
  /// Sees to it that all helpers that runs want are here or on their way, or as many as there is
  /// room for. Cheap where they are.
  void call();
  /// False where nobody will come.
  bool send_for_one() noexcept;

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Arena> arena_;  ///< nullptr where an executor has the threads, or there are none
  const std::shared_ptr<Executor> executor_;
};

}  // namespace dyn::runtime
