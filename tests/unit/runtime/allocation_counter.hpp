#pragma once
// Counts what the calling thread allocates.

#include <cstdint>

namespace dyn::testing {

/// Allocations by this thread since it began: malloc and its relatives; under a sanitizer, operator new alone.
std::int64_t allocations_of_this_thread();

}  // namespace dyn::testing
