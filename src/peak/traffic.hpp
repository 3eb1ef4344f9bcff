#pragma once
// Measures limits of programs that only move memory: reads and writes in the proportions of kernels
// without a contraction.

#include <array>
#include <cstddef>
#include <string>

#include "src/peak/kernels.hpp"

namespace dyn::peak {

/// One kind of traffic reads at most so many arrays.
inline constexpr int most_sources = 2;

/// Moves `bytes` of each array (a multiple of 512, all aligned to 64) once.
using Traffic = void (*)(void* to, const std::array<const void*, most_sources>& from,
                         std::size_t bytes);

/// One mix of reads and writes.
struct TrafficKind {
  std::string name;
  int sources;  ///< arrays that are read
  bool writes;  ///< one array is written
  /// The second version asks for lines ahead: which of them is faster depends on the machine.
  std::array<Traffic, 2> versions;
};

/// read; fill, copy and add, which write past the caches; cached_copy, which does not, so that each
/// line is read before it is written.
std::array<TrafficKind, 5> traffic_of(Isa isa);

}  // namespace dyn::peak
