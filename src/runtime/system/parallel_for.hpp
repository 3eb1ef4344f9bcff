#pragma once
// Loops over many threads while a model is loaded. Runs do not use them.

#include <cstdint>
#include <functional>

namespace dyn::runtime {

/// How many threads oneTBB may use in this process, the caller's included. It prints a warning
/// where an arena asks for more.
int tbb_threads();

/// body(first, last) over parts of [0, count) of about `grain`, on `threads` threads, the caller's
/// included; the others are the host's where it lends some (src/base/crew.hpp), else oneTBB's. What
/// a body throws is thrown here.
void parallel_for(std::int64_t count, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace dyn::runtime
