#pragma once
// Counts what the calling thread allocates, and lets an allocation fail.

#include <cstdint>

namespace dyn::testing {

/// Allocations by this thread since it began: malloc and its relatives. Always 0 under a sanitizer,
/// which brings an allocator of its own.
std::int64_t allocations_of_this_thread();

/// The allocation with this number from now on, on whatever thread, gets no memory; those while
/// LLVM works do not count. Nothing fails under a sanitizer.
void fail_allocation(std::int64_t number);
/// Ends that; true where it has failed.
bool stop_failing();

}  // namespace dyn::testing
