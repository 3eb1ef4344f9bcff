#pragma once
// How fast threads read each level of memory together.

#include <cstdint>
#include <vector>

#include "src/rkernel/machine.hpp"
#include "targets/cpu/read_loop.hpp"

namespace dyn::cpu {

/// For which numbers of threads a machine is measured that has `processors`, of at most `threads`: each up to 8, then growing by a
/// quarter, and the last one. More threads than processors share what the processors have.
std::vector<int> measured_thread_counts(int threads, int processors);

/// Values for 1 .. threads, from those at `counts`: linear in between, the last one beyond.
std::vector<double> for_each_count(const std::vector<int>& counts, const std::vector<double>& values, int threads);

/// Where a thread reads its `bytes` of a buffer: one after the other, from the start again where the buffer ends.
std::int64_t part_offset(std::int64_t buffer_bytes, std::int64_t bytes, int thread);

/// Caches and DRAM with what 1 .. threads threads read from them, in bytes per second; no more than `processors` are started.
std::vector<rkernel::MemoryLevel> measure_levels(ReadLoop loop, int threads, int processors);

}  // namespace dyn::cpu
