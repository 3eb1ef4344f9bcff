#pragma once
// Tells when two launches are one program.

#include <tuple>

#include "src/rkernel/target/target.hpp"

namespace dyn::rkernel {

/// True where both run the same code on the same parts: functions, tickets, how many a thread takes
/// at a time, threads, grid, and all numbers that the kernel reads.
inline bool same_program(const Launch& a, const Launch& b) {
  const auto identity = [](const Launch& of) {
    return std::tie(of.function, of.merge, of.tickets, of.grain, of.merge_tickets, of.merge_grain,
                    of.threads, of.grid.function, of.grid.blocks, of.grid.threads,
                    of.grid.shared_bytes, of.ints);
  };
  return identity(a) == identity(b);
}

}  // namespace dyn::rkernel
