#pragma once
// How the host ends a run early: dyn::Cancellation and deadlines.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "dyn/export.hpp"

namespace dyn {

/// Ends the runs that it was given to. Copies are the same one; any number of threads may use them
/// at the same time, and also give them to several runs. Once cancelled it stays so: whoever wants
/// to run again makes another.
class DYN_API Cancellation {
 public:
  /// Throws std::bad_alloc.
  Cancellation() : cancelled_(std::make_shared<std::atomic<bool>>(false)) {}
  Cancellation(const Cancellation&) = default;  // moving copies: none is ever empty
  Cancellation& operator=(const Cancellation&) = default;
  ~Cancellation() = default;

  /// Waits for nothing: runs end soon after that, in their own threads.
  void cancel() const noexcept { cancelled_->store(true, std::memory_order_release); }
  bool cancelled() const noexcept { return cancelled_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

/// May end one run before it is whole. It ends with Error(cancelled) then, which names the
/// group of operators that it had come to. All its threads have left it by that time, the contents
/// of its outputs are unknown, and Graph, Call and Session can be used as if it had not been: a
/// session keeps its length, and all positions below it.
///
/// A run looks between pieces of a group that take a fraction of a millisecond each, and between
/// the steps of a loop. It does not look while it plans a new shape or loads what a structure
/// needs, nor inside of what is computed in one piece: a recurrent layer, an operator of the host
/// that has no rows, one operator of device "reference". On a GPU it looks between launches, of
/// which it has a few milliseconds' in flight, and waits for those; a run that returns while the
/// device works (Call::set_stream) has nothing in the way that ends it after that. A run that is
/// done before anybody has looked is whole.
struct RunOptions {
  /// The greatest time: there is none. One that has passed already ends the run in its first group.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Nothing: nobody cancels it.
  std::optional<Cancellation> cancellation = std::nullopt;
};

}  // namespace dyn
