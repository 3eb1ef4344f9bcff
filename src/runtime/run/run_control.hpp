#pragma once
// The ways to end a run early, and how its threads come to know of it.

#include <cstdint>
#include <string_view>

#include "dyn/control.hpp"
#include "src/base/clock.hpp"

namespace dyn::runtime {

/// Belongs to one run, while it lasts. Const functions may be called from any number of threads at
/// once.
class RunControl {
 public:
  /// `options` must outlive it, and so must `own`, which ends this run alone; nullptr: there is
  /// none.
  explicit RunControl(const RunOptions& options, const Cancellation* own = nullptr)
      : options_(options), own_(own) {}

  /// Is there anything that might end the run?
  bool may_end() const noexcept {
    return own_ != nullptr || options_.cancellation ||
           options_.deadline != Clock::time_point::max();
  }
  bool ends(Clock::time_point now) const noexcept {
    return now >= options_.deadline || is_cancelled();
  }
  bool ends() const noexcept { return ends(Clock::now()); }
  /// Throws Error(cancelled), once ends() has been true. `where`: "'softmax_3'".
  [[noreturn]] void refuse(std::string_view where) const;

 private:
  bool is_cancelled() const noexcept {
    return (own_ != nullptr && own_->cancelled()) ||
           (options_.cancellation && options_.cancellation->cancelled());
  }
  const RunOptions& options_;
  const Cancellation* own_;
};

/// Throws Error(cancelled) where there is a control, and it ends the run. `where()` says where the
/// run is.
template <class Where>
void check(const RunControl* control, const Where& where) {
  if (control != nullptr && control->ends()) control->refuse(where());
}

}  // namespace dyn::runtime
