#pragma once
// Limits of this machine, measured by dyn-peak, to compare times with.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/rkernel/problem/factors.hpp"

namespace dyn::cli {

/// Rates that this many threads reach together.
struct PeakFigures {
  int threads = 1;
  double gflops = 0;  ///< f32 multiply-adds
  double i8_gflops = 0, i16_gflops = 0,
         bf16_gflops = 0;  ///< of narrow elements; 0: no instruction, or not measured
  double l1_gb_per_s = 0, l2_gb_per_s = 0, l3_gb_per_s = 0,
         dram_gb_per_s = 0;  ///< reading; 0: not measured
};

struct Peak {
  std::string isa;
  std::vector<PeakFigures> figures;  ///< ascending threads

  /// Rates at any number of threads: interpolated between measured numbers; beyond them, those of
  /// the nearest.
  PeakFigures at(int threads) const;
  /// Bytes of one core's L1 and L2, and of L3; 0: none, or not known.
  std::array<double, 3> cache_bytes = {};
  /// Bandwidth of the level that can hold `bytes` which so many threads use again and again: the
  /// nearest level that holds half of them, as the other half may still be there by chance.
  double bytes_per_second(double bytes, int threads) const;
  /// No program takes fewer seconds: it must compute, so much of each rkernel::Group, and stream
  /// from the level of memory where the bytes are. Groups that were not measured count as if they
  /// took no time.
  using Flops = std::array<double, rkernel::group_count>;
  double limit_seconds(const Flops& flops, double bytes, int threads) const;
};

/// Reads dyn-peak's JSON. Throws Error(device) for anything else.
Peak parse_peak(const std::string& json);

/// The limits for the instruction set that code is generated for. They come from the cache
/// directory, or the program dyn-peak beside dynrun measures them now and they are kept there.
/// Nothing where that program is missing or fails; `problem` then says why.
std::optional<Peak> machine_peak(const Arguments& arguments, std::string& problem);

}  // namespace dyn::cli
