#pragma once
// How much device memory all runs of a graph may hold together, and who gets it next.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace dyn::runtime {

/// Callers get memory in the order in which they asked for it, as far as it does not suffice for
/// all: none overtakes one that waits. A caller that waits holds nothing, so that what is taken
/// comes back: from runs that end, or from those that wait_for() ends. Thread-safe.
class DeviceBudget {
 public:
  /// Somebody who keeps runs, some of which nobody uses just now.
  class Holder {
   public:
    virtual ~Holder() = default;
    /// Takes the memory of one run that is over; false: none has any.
    virtual bool release_one() noexcept = 0;
    /// Waits for the work of one run that was left on a stream, and takes its memory.
    virtual bool end_one() noexcept = 0;
  };

  /// One run holds this memory. Belongs to it; gives all back in the end.
  class Share {
   public:
    /// `budget`: nullptr: there is no limit, and nothing is counted.
    explicit Share(DeviceBudget* budget) : budget_(budget) {}
    ~Share() { shrink_to(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    bool is_limited() const noexcept { return budget_ != nullptr; }
    /// False where there is no room, or another waits for it.
    bool grow_to(std::size_t bytes);
    /// From nothing. `bytes`: at most the limit.
    void wait_for(std::size_t bytes);
    void shrink_to(std::size_t bytes) noexcept;

   private:
    DeviceBudget* budget_;
    std::size_t bytes_ = 0;
  };

  explicit DeviceBudget(std::size_t limit) : limit_(limit) {}
  DeviceBudget(const DeviceBudget&) = delete;
  DeviceBudget& operator=(const DeviceBudget&) = delete;

  std::size_t limit() const noexcept { return limit_; }
  /// Somebody waits. A run that ends gives its memory back then.
  bool awaited() const noexcept { return waiting_.load() > 0; }
  /// A run may be taken from now on, by release_one() or end_one(): whoever waits looks again. The
  /// store that lets it be taken is sequentially consistent, so that either its writer sees who
  /// waits, or that one sees the run.
  void run_is_free() noexcept;

  /// Until leave(), which waits for calls of the holder's functions.
  void join(Holder& holder);
  void leave(Holder& holder);

  /// For tests.
  std::size_t used() const;

 private:
  bool fits(std::size_t bytes) const noexcept { return bytes <= limit_ - used_; }
  bool take_from_holders() noexcept;
  void note_change() noexcept;

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t used_ = 0;
  std::uint64_t next_turn_ = 0, turn_ = 0;  ///< of who asks next, and of who is served
  std::uint64_t changes_ = 0;
  std::atomic<int> waiting_{0};
  std::mutex holders_mutex_;
  std::vector<Holder*> holders_;
};

}  // namespace dyn::runtime
