#pragma once
// What dyn-peak measured of this machine: the limits that times are compared with.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/arguments.hpp"

namespace dyn::cli {

/// With this many threads together.
struct PeakFigures {
  int threads = 1;
  double gflops = 0;  ///< f32 multiply-adds
  double l1_gb_per_s = 0, l2_gb_per_s = 0, l3_gb_per_s = 0,
         dram_gb_per_s = 0;  ///< reading; 0: not measured
};

struct Peak {
  std::string isa;
  std::vector<PeakFigures> figures;  ///< ascending threads

  /// Between two measured numbers of threads: interpolated; beyond them: the nearest.
  PeakFigures at(int threads) const;
  /// Of one core's L1 and L2, and of L3; 0: none, or not known.
  std::array<double, 3> cache_bytes = {};
  /// Bandwidth of the level that `bytes`, used again and again by so many threads, can be in: the
  /// nearest that holds half of them, as the other half may still be met there by chance.
  double bytes_per_second(double bytes, int threads) const;
  /// Seconds below which no program can be: computing, or streaming from the level of memory where
  /// the bytes are.
  double limit_seconds(double flops, double bytes, int threads) const;
};

/// dyn-peak's JSON. Throws Error(device) for anything else.
Peak parse_peak(const std::string& json);

/// Of the instruction set that code is generated for, from the cache directory, or measured now by
/// the program dyn-peak beside dynrun and kept there. Nothing where that program is missing or
/// fails; `problem` then says why.
std::optional<Peak> machine_peak(const Arguments& arguments, std::string& problem);

}  // namespace dyn::cli
