#include "src/peak/measure.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "src/peak/team.hpp"

namespace dyn::peak {
namespace {

// A burst is shorter than a scheduler's time slice, and there are so many that some run
// undisturbed.
constexpr int bursts = 100, traffic_bursts = 40;
constexpr double burst_flops = 2e8;
constexpr std::size_t burst_bytes =
    1u << 25;  // a burst reads so much, from small buffers again and again
constexpr std::size_t granule = 1u << 21;  // a huge page
constexpr std::size_t most_dram_bytes = std::size_t{2} << 30;
constexpr std::size_t least_dram_bytes = std::size_t{128} << 20;

// Keeps unused results alive.
volatile std::uint64_t measured_sink;

/// Memory in pages of its own, huge where the system has them, all touched.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_((bytes + granule - 1) / granule * granule) {
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    data_ = memory;
    madvise(data_, bytes_, MADV_HUGEPAGE);
    std::memset(data_, 1, bytes_);
  }
  ~Buffer() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

std::size_t dram_bytes(std::size_t caches) {
  const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min({std::max(5 * caches, least_dram_bytes), most_dram_bytes, memory / 8});
}

std::size_t whole_lines(std::size_t bytes) { return std::max<std::size_t>(bytes / 512 * 512, 512); }

}  // namespace

std::size_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    int found_level = 0;
    std::string type;
    std::size_t kilobytes = 0;
    std::ifstream(folder + "/level") >> found_level;
    std::ifstream(folder + "/type") >> type;
    std::ifstream(folder + "/size") >> kilobytes;  // "32768K"
    if (found_level == level && type != "Instruction") return kilobytes * 1024;
  }
  return 0;
}

std::vector<Level> memory_levels(int threads) {
  const auto count = static_cast<std::size_t>(threads);
  const std::size_t l1 = cache_bytes(1), l2 = cache_bytes(2), l3 = cache_bytes(3);
  std::vector<Level> levels;
  if (l1 > 0) levels.push_back({"l1", whole_lines(l1 / 2)});
  if (l2 > 0) levels.push_back({"l2", whole_lines(l2 / 2)});
  if (l3 / count > 2 * l2) levels.push_back({"l3", whole_lines(l3 / 2 / count)});
  levels.push_back({"dram", whole_lines(dram_bytes(l1 + l2 + l3) / count)});
  return levels;
}

namespace {

template <class MultiplyAdd>
double measured_gflops(const MultiplyAdd& multiply_add, double flops_per_iteration, int threads) {
  const auto iterations = static_cast<std::int64_t>(burst_flops / flops_per_iteration);
  double best = 0;
  for (int burst = 0; burst < bursts; ++burst) {
    const double seconds = timed_together(
        threads,
        [&](int) { measured_sink = static_cast<std::uint64_t>(multiply_add(iterations / 8)); },
        [&](int) { measured_sink = static_cast<std::uint64_t>(multiply_add(iterations)); });
    best =
        std::max(best, static_cast<double>(iterations) * flops_per_iteration * threads / seconds);
  }
  return best / 1e9;
}

}  // namespace

double measure_gflops(const Kernels& kernels, int threads) {
  return measured_gflops(kernels.multiply_add, kernels.flops_per_iteration, threads);
}

double measure_gflops(const NarrowKernel& kernel, int threads) {
  return measured_gflops(kernel.multiply_add, kernel.flops_per_iteration, threads);
}

double measure_gb_per_s(const Kernels& kernels, const Level& level, int threads) {
  std::vector<std::unique_ptr<Buffer>> buffers(static_cast<std::size_t>(threads));
  const std::size_t passes = std::max<std::size_t>(burst_bytes / level.bytes, 1);
  auto* loop = kernels.reads[0];
  const auto read = [&](int thread, std::size_t times) {
    for (std::size_t pass = 0; pass < times; ++pass) {
      measured_sink = loop(buffers[static_cast<std::size_t>(thread)]->data(), level.bytes);
    }
  };
  double best = 0;
  for (int burst = 0; burst < bursts; ++burst) {
    loop = kernels.reads[static_cast<std::size_t>(burst) % kernels.reads.size()];
    // The thread that reads a buffer touches it first, so that it lies in that thread's memory
    // node.
    const auto prepare = [&](int thread) {
      auto& buffer = buffers[static_cast<std::size_t>(thread)];
      if (!buffer) buffer = std::make_unique<Buffer>(level.bytes);
      if (buffer->data() != nullptr && passes > 1) read(thread, 1);
    };
    const bool ready = std::all_of(buffers.begin(), buffers.end(),
                                   [&](const auto& b) { return !b || b->data() != nullptr; });
    if (!ready) return 0;
    const double seconds = timed_together(threads, prepare, [&](int thread) {
      if (buffers[static_cast<std::size_t>(thread)]->data() != nullptr) read(thread, passes);
    });
    best = std::max(
        best, static_cast<double>(passes) * static_cast<double>(level.bytes) * threads / seconds);
  }
  return best / 1e9;
}

TrafficRate measure_traffic(const TrafficKind& kind, std::size_t array_bytes, int threads) {
  const auto count = static_cast<std::size_t>(threads),
             arrays = static_cast<std::size_t>(kind.sources) + (kind.writes ? 1 : 0);
  const std::size_t bytes = whole_lines(array_bytes / count);
  std::vector<std::array<std::unique_ptr<Buffer>, most_sources + 1>> buffers(count);
  const auto data = [&](int thread, std::size_t array) {
    return buffers[static_cast<std::size_t>(thread)][array]->data();
  };
  // Each thread touches its own arrays first.
  timed_together(
      threads, [](int) {},
      [&](int thread) {
        for (auto& buffer : buffers[static_cast<std::size_t>(thread)])
          buffer = std::make_unique<Buffer>(bytes);
      });
  for (int thread = 0; thread < threads; ++thread)
    for (std::size_t array = 0; array <= most_sources; ++array)
      if (data(thread, array) == nullptr) return {};
  std::array<std::vector<double>, 2> rates;
  for (int burst = 0; burst < traffic_bursts; ++burst) {
    const std::size_t version = static_cast<std::size_t>(burst) % rates.size();
    const double seconds = timed_together(
        threads, [](int) {},
        [&](int thread) {
          kind.versions[version](data(thread, 0), {data(thread, 1), data(thread, 2)}, bytes);
        });
    rates[version].push_back(static_cast<double>(arrays * bytes * count) / seconds / 1e9);
  }
  TrafficRate result;
  for (std::vector<double>& sorted : rates) {
    std::ranges::sort(sorted);
    result.best = std::max(result.best, sorted.back());
    result.median = std::max(result.median, sorted[sorted.size() / 2]);
  }
  return result;
}

}  // namespace dyn::peak
