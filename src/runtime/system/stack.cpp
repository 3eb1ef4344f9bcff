#include "src/runtime/system/stack.hpp"

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <exception>

#include <fmt/format.h>

#include "src/base/crew.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

constexpr std::size_t enough_bytes = 2 << 20, given_bytes = 16 << 20;

/// The calling thread's stack has so many from here on; 0 where the system does not tell.
std::size_t bytes_left() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
             end = reinterpret_cast<std::uintptr_t>(lowest);
  return known && here > end ? here - end : 0;
}

struct Call {
  const std::function<void()>& work;
  std::exception_ptr failure = nullptr;
};

void* carry_out(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  try {
    call.work();
  } catch (...) { call.failure = std::current_exception(); }
  return nullptr;
}

bool run_in_thread(Call& call) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, given_bytes) == 0 &&
                       pthread_create(&thread, &attributes, carry_out, &call) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
  return started;
}

}  // namespace

void call_with_stack(const std::function<void()>& work) {
  Call call{work};
  const std::size_t left = bytes_left();
  if (left < enough_bytes && LentThreads::current() != nullptr) {
    user_error(
        fmt::format("a load needs {} bytes of stack, and this thread has {} left; load in a "
                    "thread with more, as with Options::executor none is started",
                    enough_bytes, left));
  }
  if (left >= enough_bytes || !run_in_thread(call)) return work();
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace dyn::runtime
