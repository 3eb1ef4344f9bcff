#include "tests/support/coverage.hpp"

#include <cstdio>
#include <map>
#include <mutex>

namespace dyn::testing {
namespace {

/// Prints itself at the end of the process, unless nothing was counted.
class Counts {
 public:
  ~Counts() {
    std::int64_t runs = 0;
    for (const auto& [kernel, row] : rows_) runs += row.runs;
    if (runs == 0) return;
    std::printf("note: %lld runs of GPU kernels on the emulator in %.1f s\n",
                static_cast<long long>(runs), seconds_);
    for (const auto& [kernel, row] : rows_) {
      std::printf("note:   %s: %lld", kernel.c_str(), static_cast<long long>(row.runs));
      for (const auto& [edge, times] : row.edges)
        std::printf(", %s %lld", edge.c_str(), static_cast<long long>(times));
      std::printf("\n");
    }
  }

  void add_run(const std::string& kernel, double seconds) {
    const std::lock_guard lock(mutex_);
    ++rows_[kernel].runs;
    seconds_ += seconds;
  }

  void add_edge(const std::string& kernel, const std::string& edge) {
    const std::lock_guard lock(mutex_);
    ++rows_[kernel].edges[edge];
  }

 private:
  struct Row {
    std::int64_t runs = 0;
    std::map<std::string, std::int64_t> edges;
  };
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
  double seconds_ = 0;
};

Counts& counts() {
  static Counts counts;
  return counts;
}

}  // namespace

EmulatorRun::EmulatorRun(std::string kernel)
    : kernel_(std::move(kernel)), start_(std::chrono::steady_clock::now()) {
  counts();
}

EmulatorRun::~EmulatorRun() {
  counts().add_run(
      kernel_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
}

void EmulatorRun::edge(const std::string& name, bool met) const {
  if (met) counts().add_edge(kernel_, name);
}

}  // namespace dyn::testing
