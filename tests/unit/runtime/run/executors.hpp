#pragma once
// Executors of a host, good and bad.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "dyn/executor.hpp"

namespace dyn::testing {

using Task = std::function<void()>;

/// Threads that run tasks as they come.
class PoolExecutor final : public Executor {
 public:
  explicit PoolExecutor(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~PoolExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    threads_.clear();
  }
  int concurrency() const override { return static_cast<int>(threads_.size()); }
  void submit(Task task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ++submitted;
    changed_.notify_one();
  }
  std::atomic<int> submitted{0};

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      Task task = std::move(tasks_.front());
      tasks_.erase(tasks_.begin());
      lock.unlock();
      task();
      task = nullptr;  // before the lock: what it kept may be much
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

/// Does with a task what it is told to.
class OddExecutor final : public Executor {
 public:
  explicit OddExecutor(std::function<void(Task)> takes, int threads = 2)
      : takes_(std::move(takes)), threads_(threads) {}
  int concurrency() const override { return threads_; }
  void submit(Task task) override {
    ++submitted;
    takes_(std::move(task));
  }
  std::atomic<int> submitted{0};

 private:
  const std::function<void(Task)> takes_;
  const int threads_;
};

}  // namespace dyn::testing
