#pragma once
// Attention executed by the emulator.

#include "tests/support/emulated.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"

namespace dyn::ptx::testing {

/// Made once per process.
dyn::test::Emulated& attention_device();

/// Runs the case in a grid of `blocks`, and gives the output's bytes; fails where the emulator
/// reports a fault. Cases of one key share their kernel.
std::vector<std::uint8_t> run_attention(const BuiltAttention& built, const Contents& contents,
                                        int blocks);

}  // namespace dyn::ptx::testing
