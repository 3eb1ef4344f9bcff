#pragma once
// What oneDNN's primitives are expected to take.

#include <cstdint>

#include "src/rkernel/cost.hpp"

namespace dyn::cpu {

/// Seconds of `tickets` equal blocks of a contraction on `threads` threads: products at the rate of this machine's fastest tile, or the reading of A and B from
/// where they are expected, whichever is longer; the call of a primitive for each block; where `epilogue` follows in a second stage, the sums written and read.
double vendor_seconds(const rkernel::Machine& machine, const rkernel::ContractionShape& shape, int threads, std::int64_t tickets, bool epilogue);

}  // namespace dyn::cpu
