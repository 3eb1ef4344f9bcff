#pragma once
// Threads that work beside the calling one for a short time.

#include <chrono>
#include <functional>
#include <memory>

#include "dyn/executor.hpp"

namespace dyn {

/// While it lives, and for the calling thread alone: who needs others takes the host's, and starts
/// none. nullptr: the host lends none.
class LentThreads {
 public:
  explicit LentThreads(Executor* executor) noexcept;
  ~LentThreads();
  LentThreads(const LentThreads&) = delete;
  LentThreads& operator=(const LentThreads&) = delete;

  /// nullptr: threads may be started.
  static Executor* current() noexcept;

 private:
  Executor* before_;
};

/// Others that do some work at the same time. Those that have not come when it is closed never
/// begin: nobody waits for them.
class Crew {
 public:
  /// How long work that needs all of them at the same time waits for those whom the host lends.
  static constexpr std::chrono::milliseconds patience{5};

  /// Calls work(number) in `count` other threads, numbered from 1, or in as many as system or host
  /// have. Work must not throw.
  Crew(int count, std::function<void(int number)> work);
  /// Waits for those who have come.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Closes it when all have come, or after this time. Returns how many have.
  int close(std::chrono::microseconds patience = std::chrono::microseconds(0));

  /// While it lives: have all whom they wanted come to the crews of the calling thread that
  /// were closed with patience?
  class Attendance {
   public:
    Attendance() noexcept;
    ~Attendance();
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;
    bool is_full() const noexcept { return is_full_; }

   private:
    friend class Crew;
    Attendance* before_;
    bool is_full_ = true;
  };

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dyn
