#include "tests/unit/runtime/run/allocation_counter.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "targets/llvm/jit/compiler.hpp"

namespace {

// Constant-initialised and never destroyed: the allocator uses them before main and after exit.
thread_local std::int64_t allocation_count = 0;
constinit std::atomic<std::int64_t> allocations_to_failure{-1};

#ifndef DYN_SANITIZED
/// Counts an allocation; true where it is the one that is to fail.
bool fails() noexcept {
  ++allocation_count;
  if (allocations_to_failure.load(std::memory_order_relaxed) < 0 ||
      dyn::codegen::RoomForLlvm::is_taken() || allocations_to_failure.fetch_sub(1) != 0)
    return false;
  errno = ENOMEM;
  return true;
}
#endif

}  // namespace

namespace dyn::testing {

std::int64_t allocations_of_this_thread() { return allocation_count; }

void fail_allocation(std::int64_t number) { allocations_to_failure = number; }

bool stop_failing() { return allocations_to_failure.exchange(-1) < 0; }

}  // namespace dyn::testing

#ifndef DYN_SANITIZED

extern "C" {  // noexcept, as the C library declares them
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

__attribute__((visibility("default"))) void* malloc(std::size_t bytes) noexcept {
  return fails() ? nullptr : __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(std::size_t number,
                                                    std::size_t bytes) noexcept {
  return fails() ? nullptr : __libc_calloc(number, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t bytes) noexcept {
  return fails() ? nullptr : __libc_realloc(memory, bytes);
}
__attribute__((visibility("default"))) void* memalign(std::size_t alignment,
                                                      std::size_t bytes) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                           std::size_t bytes) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, std::size_t alignment,
                                                          std::size_t bytes) noexcept {
  void* const given = fails() ? nullptr : __libc_memalign(alignment, bytes);
  if (given == nullptr) return ENOMEM;
  *memory = given;
  return 0;
}
}

#endif
