#pragma once
// Stacks that run in turn on one thread of the host.

#include <ucontext.h>

#include <cstddef>

namespace dyn::ptx::emulation {

/// Enough for generated code with all its registers spilled, and for the text of a report.
inline constexpr std::size_t fiber_stack_bytes = std::size_t{128} << 10;

/// A stack that stopped somewhere. No exception may leave it, and nothing on an abandoned stack is
/// destroyed.
class Fiber {
 public:
  /// The host thread's own stack.
  Fiber() = default;
  /// A stack of its own, with a page below it that cannot be touched. Throws std::bad_alloc.
  explicit Fiber(std::size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next switch to this fiber enters main(argument), which must not return; earlier work on
  /// its stack is abandoned.
  void restart(void (*main)(void*), void* argument);
  /// Called on the running fiber; returns when something switches back to it.
  static void switch_to(Fiber& from, Fiber& to);
  /// Must be called once on the host's stack before others are switched to.
  void adopt_host_stack();

 private:
  static void enter(unsigned low, unsigned high);

  ucontext_t registers_;
  char* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  const void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;                        ///< for the address sanitizer
  [[maybe_unused]] void* sanitizer_fiber_ = nullptr;  ///< for the thread sanitizer
  void (*main_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace dyn::ptx::emulation
