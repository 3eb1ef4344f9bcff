#pragma once
// How much of the host's memory a graph may hold: weights, and what its runs work in.

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "dyn/options.hpp"

namespace dyn::runtime {

/// "200 bytes (120 for weights, 80 for intermediate tensors, 0 for outputs)"
std::string words_of(const MemoryNeeded& needed);

/// All parts and variants of one graph share it. Thread-safe.
class MemoryBudget {
 public:
  /// Somebody who keeps memory for runs to come.
  class Holder {
   public:
    virtual ~Holder() = default;
    /// Gives all of it back. Returns whether there was any.
    virtual bool release_idle() = 0;
  };

  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Counts what a part of the graph holds as long as it is loaded.
  class Weights {
   public:
    Weights() = default;
    /// Throws Error(device) where weights do not fit. `budget`: nullptr: there is no limit.
    Weights(std::shared_ptr<MemoryBudget> budget, std::size_t bytes);
    Weights(Weights&& other) noexcept = default;
    Weights& operator=(Weights&&) = delete;
    ~Weights();

   private:
    std::shared_ptr<MemoryBudget> budget_;
    std::size_t bytes_ = 0;
  };

  /// Throws Error(device) where a run that needs so much beside the weights does not fit, whatever
  /// else there is.
  void check(MemoryNeeded needed) const;

  /// Counts what one run holds, and keeps for the next one. False where there is no room for more.
  bool change(std::size_t before, std::size_t after) noexcept;
  /// All holders give back what they keep.
  void release_idle();
  /// Throws Error(device): change() has found no room for a run.
  [[noreturn]] void refuse(std::size_t more) const;

  /// Until leave(), which waits for calls of the holder's function.
  void join(Holder& holder);
  void leave(Holder& holder);

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> weights_{0}, runs_{0};
  std::mutex holders_mutex_;
  std::vector<Holder*> holders_;
};

}  // namespace dyn::runtime
