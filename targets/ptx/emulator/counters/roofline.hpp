#pragma once
// The time that counters imply on a GPU: no launch can take less.

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/device.hpp"
#include "targets/ptx/emulator/counters/kernel_counters.hpp"

namespace dyn::ptx {

/// Seconds of each unit of the multiprocessor that has most blocks, and of what all share, if
/// nothing else took time.
struct CounterRoofline {
  double issue = 0;   ///< one instruction a cycle on each of four schedulers
  double tensor = 0;  ///< mma
  double fma = 0;     ///< f32 arithmetic
  double special = 0;
  double shared = 0;  ///< a pass over all banks a cycle
  double l2 = 0;      ///< sectors between L2 and that multiprocessor, or all of them
  double memory = 0;  ///< sectors that are touched, once

  /// The longest, and what it is of.
  std::pair<double, const char*> bound() const;
};

CounterRoofline counter_roofline(const choice::GpuMachine& machine, const KernelCounters& counters);

/// The counters of a launch with their roofline, for people.
rkernel::LaunchReport launch_report(const choice::GpuMachine& machine,
                                    const KernelCounters& counters);

}  // namespace dyn::ptx
