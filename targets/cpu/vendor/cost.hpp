#pragma once
// What oneDNN's primitives are expected to take.

#include <cstdint>

#include "src/choice/cost/cost.hpp"

namespace dyn::cpu {

/// An execution on one thread whose operands are in caches takes seconds_per_execution + operations
/// / flops_per_second.
struct VendorRate {
  double flops_per_second = 0, seconds_per_execution = 0;
};

/// The rates of one library on one machine.
struct VendorFigures {
  VendorRate fresh;   ///< the right side comes with the call
  VendorRate packed;  ///< it is constant, in panels
};

/// Seconds of `tickets` equal blocks of a contraction on `threads` threads: products at the
/// library's rate, or the reading of A and B from where they are expected, whichever is longer; the
/// call of a primitive for each block; where `epilogue` follows in a second stage, the sums written
/// and read.
double vendor_seconds(const choice::Machine& machine, const VendorFigures& figures,
                      const choice::ContractionShape& shape, int threads, std::int64_t tickets,
                      bool epilogue);

/// How a launch of the vendor's primitives is dealt out.
struct VendorChoice {
  int threads = 1;
  std::int64_t tickets = 1;  ///< blocks, as cut_blocks() cuts them for so many threads
  double seconds = 0;        ///< vendor_seconds()
};

/// One thread or `threads`, whichever is expected to be faster; ties go to one, so that equal
/// inputs choose the same.
VendorChoice choose_vendor_threads(const choice::Machine& machine, const VendorFigures& figures,
                                   const choice::ContractionShape& shape, int threads,
                                   bool epilogue);

/// Whether policy Dyn takes the vendor's program: expected to be faster by more than
/// Calibration::vendor_margin. Both predictions err, and making primitives is not for nothing.
inline bool vendor_pays(double vendor_seconds, double own_seconds) {
  return vendor_seconds < choice::default_calibration().vendor_margin * own_seconds;
}

}  // namespace dyn::cpu
