#include "targets/llvm/code/parallel_jobs.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace dyn::codegen {

void run_workers(std::size_t workers, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto kept = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> pool;
  try {
    for (std::size_t i = 1; i < workers; ++i) pool.emplace_back(kept);
  } catch (const std::system_error&) {}  // those that there are do the work
  kept();
  pool.clear();
  if (failure) std::rethrow_exception(failure);
}

void run_jobs(std::size_t count, int threads, const std::function<void(std::size_t)>& job) {
  if (count == 0) return;
  std::atomic<std::size_t> next{0};
  run_workers(std::min<std::size_t>(count, static_cast<std::size_t>(std::max(threads, 1))), [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) job(i);
    } catch (...) {
      next = count;  // the others stop too
      throw;
    }
  });
}

}  // namespace dyn::codegen
