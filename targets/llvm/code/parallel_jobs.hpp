#pragma once
// Independent jobs on a few threads, for code generation.

#include <cstddef>
#include <functional>

namespace dyn::codegen {

/// Runs `work` in the calling thread and in workers - 1 others, or as many as system or host allow
/// (src/base/crew.hpp). Rethrows the first exception when all have ended.
void run_workers(std::size_t workers, const std::function<void()>& work);

/// Calls job(i) for i from 0 to count - 1, on `threads` threads at most, the caller's included.
/// Throws the first exception of a job when all jobs that had begun have ended; jobs not begun by
/// then are left out.
void run_jobs(std::size_t count, int threads, const std::function<void(std::size_t)>& job);

}  // namespace dyn::codegen
