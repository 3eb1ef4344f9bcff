#include "targets/cpu/measure/read_bandwidth.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "src/base/crew.hpp"
#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/x86/cpu_info.hpp"

namespace dyn::cpu {
namespace {

std::int64_t cache_bytes(int level, std::int64_t otherwise) {
  for (const Cache& cache : cpu_caches()) {
    if (cache.level == level) return cache.bytes;
  }
  return otherwise;
}

/// Bytes per second of `threads` threads, each reading its own `bytes`, of each round in ascending
/// order; of fewer, where the system refuses some.
std::vector<double> read_bandwidths(ReadLoop loop, const MeasureBuffer& buffer, std::int64_t bytes,
                                    int threads) {
  bytes = std::clamp<std::int64_t>(bytes / 1024 * 1024, 1024, buffer.bytes());
  const std::int64_t passes = std::max<std::int64_t>(1, (std::int64_t{4} << 20) / bytes);
  std::vector<double> figures;
  for (int round = 0; round < measured_rounds; ++round) {
    std::vector<double> ends(static_cast<std::size_t>(threads)),
        starts(static_cast<std::size_t>(threads));
    std::atomic<int> ready{0}, expected{threads};
    const auto work = [&](int thread) {
      const char* data = buffer.data() + part_offset(buffer.bytes(), bytes, thread);
      loop(data, bytes, 1);
      ++ready;
      while (ready.load() < expected.load()) std::this_thread::yield();
      starts[static_cast<std::size_t>(thread)] = now_seconds();
      loop(data, bytes, passes);
      ends[static_cast<std::size_t>(thread)] = now_seconds();
    };
    {
      Crew others(threads - 1, work);
      expected = others.close(Crew::patience) + 1;
      work(0);
    }
    const auto active = expected.load();
    const double elapsed = *std::max_element(ends.begin(), ends.begin() + active) -
                           *std::min_element(starts.begin(), starts.begin() + active);
    figures.push_back(static_cast<double>(bytes * passes * active) / elapsed);
  }
  std::sort(figures.begin(), figures.end());
  return figures;
}

}  // namespace

std::int64_t part_offset(std::int64_t buffer_bytes, std::int64_t bytes, int thread) {
  return thread % std::max<std::int64_t>(1, buffer_bytes / bytes) * bytes;
}

std::vector<int> measured_thread_counts(int threads, int processors) {
  const int most = std::max(1, std::min(threads, processors));
  std::vector<int> counts;
  for (int count = 1; count < most; count += count < 8 ? 1 : count / 4) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

std::vector<double> for_each_count(const std::vector<int>& counts,
                                   const std::vector<double>& values, int threads) {
  std::vector<double> all;
  std::size_t next = 0;
  for (int count = 1; count <= threads; ++count) {
    while (next + 1 < counts.size() && counts[next] < count) ++next;
    if (next == 0 || counts[next] <= count) {
      all.push_back(values[next]);
      continue;
    }
    const double share =
        static_cast<double>(count - counts[next - 1]) / (counts[next] - counts[next - 1]);
    all.push_back(values[next - 1] + share * (values[next] - values[next - 1]));
  }
  return all;
}

bool is_disturbed(const std::vector<choice::MemoryLevel>& levels, int cores) {
  constexpr double least_share = 0.8, least_of_fewer = 0.9;
  const std::vector<double>& first = levels.front().bandwidth;
  for (std::size_t i = 0; i < std::min(first.size(), static_cast<std::size_t>(cores)); ++i) {
    if (first[i] < least_share * static_cast<double>(i + 1) * first.front()) return true;
  }
  for (const choice::MemoryLevel& level : levels) {
    for (std::size_t i = 1; i < std::min(level.bandwidth.size(), static_cast<std::size_t>(cores));
         ++i) {
      if (level.bandwidth[i] < least_of_fewer * level.bandwidth[i - 1]) return true;
    }
  }
  return false;
}

std::vector<choice::MemoryLevel> best_of(std::vector<choice::MemoryLevel> levels,
                                         const std::vector<choice::MemoryLevel>& others) {
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (std::size_t i = 0; i < levels[level].bandwidth.size(); ++i) {
      levels[level].bandwidth[i] =
          std::max(levels[level].bandwidth[i], others.at(level).bandwidth.at(i));
    }
  }
  return levels;
}

std::vector<choice::MemoryLevel> without_disturbance(std::vector<choice::MemoryLevel> levels,
                                                     int cores) {
  constexpr std::size_t private_levels = 2;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::vector<double>& bandwidth = levels[level].bandwidth;
    for (std::size_t i = 1; i < bandwidth.size(); ++i) {
      const bool own = level < private_levels && i < static_cast<std::size_t>(cores);
      if (own) bandwidth[i] = static_cast<double>(i + 1) * bandwidth.front();
    }
  }
  return levels;
}

std::vector<choice::MemoryLevel> never_slower(std::vector<choice::MemoryLevel> levels) {
  for (choice::MemoryLevel& level : levels) {
    for (std::size_t i = 1; i < level.bandwidth.size(); ++i)
      level.bandwidth[i] = std::max(level.bandwidth[i], level.bandwidth[i - 1]);
  }
  return levels;
}

std::int64_t usable_bytes(std::int64_t cache, double near_bandwidth, double far_bandwidth,
                          const std::function<double(std::int64_t)>& bandwidth) {
  // Half of the cache is what its own bandwidth is measured with.
  constexpr std::int64_t parts = 8;
  const double least = std::sqrt(near_bandwidth * far_bandwidth);
  for (std::int64_t part = parts - 1; part > parts / 2; --part) {
    const std::int64_t bytes = cache / parts * part;
    if (bandwidth(bytes) >= least) return part == parts - 1 ? cache : bytes;
  }
  return cache / 2;
}

std::vector<choice::MemoryLevel> measure_levels(ReadLoop loop, int threads, int processors) {
  const std::int64_t l1 = cache_bytes(1, 32 << 10);
  const std::int64_t l2 = cache_bytes(2, 512 << 10);
  const std::int64_t l3 = std::max(cache_bytes(3, 8 << 20), 2 * l2);
  const std::int64_t dram = std::clamp<std::int64_t>(3 * l3, 64 << 20, 256 << 20);
  const MeasureBuffer buffer(static_cast<std::size_t>(dram));
  const std::vector<int> counts = measured_thread_counts(threads, processors);
  std::vector<double> measured[4];
  const auto best = [&](std::int64_t bytes, int active) {
    return read_bandwidths(loop, buffer, bytes, active).back();
  };
  // What others leave of a shared cache changes all the time: the middle round says what is usual.
  const auto usual = [&](std::int64_t bytes) {
    return read_bandwidths(loop, buffer, bytes, 1)[measured_rounds / 2];
  };
  for (const int active : counts) {
    // Shared levels are read in parts, private ones by each thread for itself.
    measured[0].push_back(best(l1 / 2, active));
    measured[1].push_back(best(l2 / 2, active));
    measured[2].push_back(best(std::max(l3 / 2 / active, l2 * 5 / 4), active));
    measured[3].push_back(best(dram / active, active));
  }
  const std::int64_t usable_l3 = usable_bytes(l3, measured[2].front(), measured[3].front(), usual);
  const auto level = [&](const char* name, std::int64_t bytes, std::size_t i) {
    return choice::MemoryLevel{name, bytes, for_each_count(counts, measured[i], threads)};
  };
  return {level("L1", l1, 0), level("L2", l2, 1), level("L3", usable_l3, 2), level("DRAM", 0, 3)};
}

}  // namespace dyn::cpu
