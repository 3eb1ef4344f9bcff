#include "targets/ptx/emulator/multiprocessor/fiber.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace dyn::ptx::emulation {

Fiber::Fiber(std::size_t stack_bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  memory_bytes_ = stack_bytes + page;
  void* memory = mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  if (mprotect(memory_, page, PROT_NONE) != 0) {
    munmap(memory_, memory_bytes_);
    throw std::bad_alloc();
  }
  stack_ = memory_ + page;
  stack_bytes_ = stack_bytes;
#ifdef __SANITIZE_THREAD__
  sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  if (memory_ == nullptr) return;
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack_, stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(sanitizer_fiber_);
#endif
  munmap(memory_, memory_bytes_);
}

void Fiber::restart(void (*main)(void*), void* argument) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack_, stack_bytes_);
  fake_stack_ = nullptr;
#endif
  main_ = main;
  argument_ = argument;
  getcontext(&registers_);
  registers_.uc_stack.ss_sp = const_cast<void*>(stack_);
  registers_.uc_stack.ss_size = stack_bytes_;
  registers_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&registers_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
}

void Fiber::enter(unsigned low, unsigned high) {
  auto* self = reinterpret_cast<Fiber*>(std::uintptr_t{low} | std::uintptr_t{high} << 32);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  self->main_(self->argument_);
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_, to.stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(to.sanitizer_fiber_, 0);
#endif
  swapcontext(&from.registers_, &to.registers_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::adopt_host_stack() {
#ifdef __SANITIZE_ADDRESS__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* stack = nullptr;
    pthread_attr_getstack(&attributes, &stack, &stack_bytes_);
    stack_ = stack;
    pthread_attr_destroy(&attributes);
  }
#endif
#ifdef __SANITIZE_THREAD__
  sanitizer_fiber_ = __tsan_get_current_fiber();
#endif
}

}  // namespace dyn::ptx::emulation
