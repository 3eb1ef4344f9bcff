// The host's threads in place of dyn's: an executor that a host has anyway. dyn starts no thread,
// neither to load nor to run; the program counts them.

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

class ThreadPool final : public dyn::Executor {
 public:
  explicit ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~ThreadPool() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  int concurrency() const override { return static_cast<int>(threads_.size()); }
  void submit(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // before the lock: what it kept may be much
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

long threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<long>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace

int main() {
  const auto pool = std::make_shared<ThreadPool>(3);
  dyn::Options options;
  options.executor = pool;
  options.cache_dir = "none";  // all is compiled and measured here
  const dyn::Graph graph = dyn::Graph::from_text(R"(
    dyn 1
    weight w: f32[512, 512] = random 1
    dim B in 1..4096
    graph layer(x: f32[B, 512]) -> (y: f32[B, 512]) {
      return softmax(matmul(x, w)) axis=-1
    }
  )",
                                                 options);
  const std::vector<float> x(1000 * 512, 0.5f);
  const dyn::NamedTensors inputs = {{"x", dyn::Tensor::view(x, {1000, 512})}};
  for (int i = 0; i < 20; ++i) graph.run(inputs);

  dyn::AsyncRun beside = graph.run_async(inputs);  // in a task of the pool
  const float y = beside.get()["y"].data<float>()[0];

  const long threads = threads_of_process();
  std::printf("y[0] is %g; %d threads of the pool and this one are all that there are: %ld\n", y,
              pool->concurrency(), threads);
  return threads == pool->concurrency() + 1 && y > 0 ? 0 : 1;
}
