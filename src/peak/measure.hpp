#pragma once
// Takes the best of many short bursts: the highest rate that the machine was seen to reach.

#include <cstddef>
#include <string>
#include <vector>

#include "src/peak/kernels.hpp"
#include "src/peak/traffic.hpp"

namespace dyn::peak {

struct Level {
  std::string name;   ///< "l1", "l2", "l3", "dram"
  std::size_t bytes;  ///< bytes that one thread reads: they fit this level, and not the one before
};

/// Derived from the sizes of this machine's caches, shared ones divided among `threads`. DRAM: more
/// than 4 times all caches.
std::vector<Level> memory_levels(int threads);

/// f32 multiply-adds of `threads` threads together, in GFLOP/s.
double measure_gflops(const Kernels& kernels, int threads);
/// The same of narrow elements.
double measure_gflops(const NarrowKernel& kernel, int threads);

/// Bytes that `threads` threads read together from their own memory, in GB/s.
double measure_gb_per_s(const Kernels& kernels, const Level& level, int threads);

/// Bytes read and written together, in GB/s; the median of the faster version.
struct TrafficRate {
  double best = 0, median = 0;
};
/// The traffic of `threads` threads that share the arrays, each of `array_bytes` in all. It is
/// DRAM's where the arrays exceed the caches.
TrafficRate measure_traffic(const TrafficKind& kind, std::size_t array_bytes, int threads);

/// Bytes of the first CPU's cache at `level` (1 to 3), the data or unified one; 0: there is none.
std::size_t cache_bytes(int level);

}  // namespace dyn::peak
