#pragma once
// Attention executed by the emulator.

#include "src/rkernel/target/target.hpp"
#include "tests/support/emulated.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"

namespace dyn::ptx::testing {

/// Made once per process.
dyn::test::Emulated& attention_device();

/// Runs the case in a grid of `blocks`, and gives the output's bytes; fails where the emulator
/// reports a fault. Cases of one key share their kernel.
std::vector<std::uint8_t> run_attention(const BuiltAttention& built, const Contents& contents,
                                        int blocks);

/// The same as the target plans it: the tile, and how operands are copied, are its choice for
/// `machine`, not the case's.
struct PlannedRun {
  rkernel::Launch launch;
  std::vector<std::uint8_t> output;
};
PlannedRun run_planned(const BuiltAttention& built, const Contents& contents,
                       const choice::GpuMachine& machine);

}  // namespace dyn::ptx::testing
