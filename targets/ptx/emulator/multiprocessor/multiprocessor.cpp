#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

#include <algorithm>

#include "targets/ptx/emulator/multiprocessor/runtime_functions.hpp"

namespace dyn::ptx::emulation {
namespace {

// Alignment of shared memory. Swizzles use bits of addresses; the base has 0 in all of them.
constexpr std::size_t shared_alignment = 1 << 16;
constexpr std::size_t shared_slack = 64;  // the widest access, at the last byte

}  // namespace

std::optional<FaultReport> Multiprocessor::run(const EmulatedKernel& kernel,
                                               const rkernel::DeviceLaunch& launch,
                                               std::span<const std::int32_t> blocks,
                                               std::size_t most_resident, std::size_t ints_bytes,
                                               bool counting) {
  meter_.reset();
  if (counting) meter_.emplace();
  begin(kernel, launch, ints_bytes);
  run_blocks(launch, blocks, most_resident);
  if (report_) abandon_fibers();
  return std::exchange(report_, std::nullopt);
}

EmulatorCounts Multiprocessor::take_counts() { return std::exchange(counts_, {}); }

void Multiprocessor::begin(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch,
                           std::size_t ints_bytes) {
  kernel_ = &kernel;
  name_ = launch.name;
  ++counts_.launches;
  thread_count_ = kernel.threads;
  shared_bytes_ = static_cast<std::size_t>(launch.shared_bytes);
  if (!timeline_.begin_launch()) {
    for (const auto& place : places_) place->shared_shadow.forget();
    global_shadow_.forget();
  }
  prepared_ = 0;
  free_.clear();
  waiting_.clear();
  atomic_places_.clear();
  global_shadow_.begin_launch(launch, ints_bytes, kernel.global_cell_shift, kernel.sites.size());
  if (meter_) meter_->begin(kernel, launch);
  uncounted_.resize(std::max(uncounted_.size(), kernel.blocks.size()));
  host_.adopt_host_stack();
  running_ = &host_;
}

void Multiprocessor::prepare(ResidentBlock& place, const rkernel::DeviceLaunch& launch) {
  if (place.shared_memory.size() < shared_bytes_ + shared_slack + shared_alignment)
    place.shared_memory.resize(shared_bytes_ + shared_slack + shared_alignment);
  const auto base = reinterpret_cast<std::uintptr_t>(place.shared_memory.data());
  place.shared = place.shared_memory.data() +
                 ((base + shared_alignment - 1) / shared_alignment * shared_alignment - base);

  const auto count = static_cast<std::size_t>(thread_count_);
  if (place.threads.size() < count) place.threads.resize(count);
  place.runnable.resize((count + 63) / 64);
  place.warps.resize((count + warp_lanes - 1) / warp_lanes);
  place.clocks.begin_launch(timeline_, thread_count_, kernel_->orders);
  place.shared_shadow.begin_launch(launch.shared_bytes, kernel_->shared_cell_shift, thread_count_,
                                   kernel_->orders.finely);
  for (std::size_t i = 0; i < count; ++i) {
    Thread& thread = place.threads[i];
    thread.functions = runtime_functions();
    thread.shared = place.shared;
    thread.pointers = reinterpret_cast<const void*>(launch.pointers);
    thread.ints = reinterpret_cast<const void*>(launch.ints);
    thread.status = reinterpret_cast<void*>(launch.status);
    thread.thread = static_cast<std::int32_t>(i);
    thread.lane = static_cast<std::int32_t>(i % warp_lanes);
    thread.blocks = static_cast<std::int32_t>(launch.blocks);
    thread.home = this;
  }
}

}  // namespace dyn::ptx::emulation
