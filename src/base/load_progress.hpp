#pragma once
// How far a load is, for its host.

#include <functional>

#include "dyn/options.hpp"

namespace dyn {

/// While it lives, and for the calling thread alone: reports go to this function. An empty one
/// hears nothing.
class ProgressListener {
 public:
  using Heard = std::function<bool(const LoadProgress&)>;
  explicit ProgressListener(const Heard& heard) noexcept;
  ~ProgressListener();
  ProgressListener(const ProgressListener&) = delete;
  ProgressListener& operator=(const ProgressListener&) = delete;

 private:
  const Heard* before_;
};

/// Tells the thread's listener, where there is one. Throws Error(cancelled) where it wants the end,
/// and what it throws.
void report_progress(const LoadProgress& progress);

}  // namespace dyn
