#pragma once
// How fast threads read each level of memory together.

#include <cstdint>
#include <functional>
#include <vector>

#include "src/choice/cost/machine.hpp"
#include "targets/cpu/measure/read_loop.hpp"

namespace dyn::cpu {

/// For which numbers of threads a machine is measured that has `processors`, of at most `threads`:
/// each up to 8, then growing by a quarter, and the last one. More threads than processors share
/// what the processors have.
std::vector<int> measured_thread_counts(int threads, int processors);

/// Values for 1 .. threads, from those at `counts`: linear in between, the last one beyond.
std::vector<double> for_each_count(const std::vector<int>& counts,
                                   const std::vector<double>& values, int threads);

/// Where a thread reads its `bytes` of a buffer: one after the other, from the start again where
/// the buffer ends.
std::int64_t part_offset(std::int64_t buffer_bytes, std::int64_t bytes, int thread);

/// How much of a shared cache one thread finds its data in again: all of it, or where others (of
/// this machine, or of the host that it is a part of) fill the rest, the most eighths, half at
/// least, that `bandwidth` (bytes per second of reading so many bytes again and again) reads nearer
/// to `near_bandwidth` than to `far_bandwidth`, by ratio.
std::int64_t usable_bytes(std::int64_t cache, double near_bandwidth, double far_bandwidth,
                          const std::function<double(std::int64_t)>& bandwidth);

/// Caches and DRAM with what 1 .. threads threads read from them, in bytes per second; no more than
/// `processors` are started.
std::vector<choice::MemoryLevel> measure_levels(ReadLoop loop, int threads, int processors);

/// Whether something else ran meanwhile: threads on `cores` cores, each with a first cache of its
/// own, read much less from it together than one thread times their number; or more threads read
/// much less from any level than fewer.
bool is_disturbed(const std::vector<choice::MemoryLevel>& levels, int cores);

/// The same levels after another measurement: the better figure of each, as nothing makes a machine
/// faster than it is.
std::vector<choice::MemoryLevel> best_of(std::vector<choice::MemoryLevel> levels,
                                         const std::vector<choice::MemoryLevel>& others);

/// What disturbed figures may be taken for: L1 and L2 of each core as fast as that of one.
std::vector<choice::MemoryLevel> without_disturbance(std::vector<choice::MemoryLevel> levels,
                                                     int cores);

/// More threads read no fewer bytes than fewer threads do: choices take for granted that a problem
/// with much to do is no slower on all threads than on one (select()).
std::vector<choice::MemoryLevel> never_slower(std::vector<choice::MemoryLevel> levels);

}  // namespace dyn::cpu
