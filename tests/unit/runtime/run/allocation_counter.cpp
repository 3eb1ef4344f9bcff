#include "tests/unit/runtime/run/allocation_counter.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {

// Constant-initialised and never destroyed: the allocator uses it before main and after exit.
thread_local std::int64_t allocation_count = 0;

}  // namespace

namespace dyn::testing {

std::int64_t allocations_of_this_thread() { return allocation_count; }

}  // namespace dyn::testing

#ifndef DYN_SANITIZED

extern "C" {  // noexcept, as the C library declares them
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

__attribute__((visibility("default"))) void* malloc(std::size_t bytes) noexcept {
  ++allocation_count;
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(std::size_t number,
                                                    std::size_t bytes) noexcept {
  ++allocation_count;
  return __libc_calloc(number, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t bytes) noexcept {
  ++allocation_count;
  return __libc_realloc(memory, bytes);
}
__attribute__((visibility("default"))) void* memalign(std::size_t alignment,
                                                      std::size_t bytes) noexcept {
  ++allocation_count;
  return __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                           std::size_t bytes) noexcept {
  ++allocation_count;
  return __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, std::size_t alignment,
                                                          std::size_t bytes) noexcept {
  ++allocation_count;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}

#endif
