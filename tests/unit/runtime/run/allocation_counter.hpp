#pragma once
// Counts what the calling thread allocates.

#include <cstdint>

namespace dyn::testing {

/// Allocations by this thread since it began: malloc and its relatives. Always 0 under a sanitizer,
/// which brings an allocator of its own.
std::int64_t allocations_of_this_thread();

}  // namespace dyn::testing
