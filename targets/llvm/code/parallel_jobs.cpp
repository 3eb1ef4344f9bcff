#include "targets/llvm/code/parallel_jobs.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "src/base/crew.hpp"

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
  {
    const Crew others(static_cast<int>(workers) - 1, [&](int) { kept(); });
    kept();
  }
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
