#pragma once
// dyn::AsyncRun: a run in another thread, of Graph::run_async.

#include <chrono>
#include <exception>
#include <functional>
#include <memory>

#include "dyn/export.hpp"
#include "dyn/graph.hpp"

namespace dyn {

/// One run that goes on beside its caller, or has yet to begin. All functions may be called from
/// any number of threads at once, but get(), which takes the outputs once. May be moved, not
/// copied: one that was moved from has no run, and its functions throw Error(user).
class DYN_API AsyncRun {
 public:
  AsyncRun(AsyncRun&&) noexcept;
  AsyncRun& operator=(AsyncRun&&) noexcept;
  /// Cancels the run, and waits until no thread uses its tensors any more.
  ~AsyncRun();

  /// The outputs, or what the run has thrown. Waits for a run that has begun; one that has not is
  /// carried out by the calling thread, now: so an executor that never runs its task keeps nobody
  /// waiting. Throws Error(user) the second time.
  Outputs get();
  /// It is over, and get() will not wait.
  bool is_over() const;
  /// Waits, at most until then, and begins nothing. Returns is_over().
  bool wait_until(std::chrono::steady_clock::time_point time) const;
  /// Ends the run early (dyn/control.hpp): get() throws Error(cancelled), unless it is over.
  void cancel() const;

  struct DYN_INTERNAL State;

 private:
  friend class Graph;
  DYN_INTERNAL explicit AsyncRun(std::shared_ptr<State> state);
  DYN_INTERNAL State& state() const;
  DYN_INTERNAL void leave() noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace dyn
