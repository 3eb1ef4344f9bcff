#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

#include <algorithm>
#include <cstring>

#include "targets/ptx/emulator/memory/poison_word.hpp"
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
                                               std::size_t ints_bytes, bool counting) {
  meter_.reset();
  if (counting) meter_.emplace();
  begin(kernel, launch, ints_bytes);
  for (const std::int32_t block : blocks) {
    run_block(block);
    if (report_) break;
  }
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
  if (shared_memory_.size() < shared_bytes_ + shared_slack + shared_alignment)
    shared_memory_.resize(shared_bytes_ + shared_slack + shared_alignment);
  const auto base = reinterpret_cast<std::uintptr_t>(shared_memory_.data());
  shared_ = shared_memory_.data() +
            ((base + shared_alignment - 1) / shared_alignment * shared_alignment - base);

  const auto count = static_cast<std::size_t>(thread_count_);
  if (threads_.size() < count) threads_.resize(count);
  runnable_.resize((count + 63) / 64);
  warps_.resize((count + warp_lanes - 1) / warp_lanes);
  const std::size_t fibers = kernel.waits ? count : 1;
  while (fibers_.size() < fibers) {
    fibers_.push_back(std::make_unique<Fiber>(fiber_stack_bytes));
    fibers_.back()->restart(serve, this);
    idle_.push_back(fibers_.back().get());
  }
  if (!clocks_.begin_launch(thread_count_, kernel.orders_finely)) {
    shared_shadow_.forget();
    global_shadow_.forget();
  }
  shared_shadow_.begin_launch(launch.shared_bytes, kernel.shared_cell_shift, thread_count_,
                              kernel.orders_finely);
  global_shadow_.begin_launch(launch, ints_bytes, kernel.global_cell_shift, kernel.sites.size());
  if (meter_) meter_->begin(kernel, launch);
  uncounted_.resize(std::max(uncounted_.size(), kernel.blocks.size()));
  host_.adopt_host_stack();
  running_ = &host_;
  for (std::size_t i = 0; i < count; ++i) {
    Thread& thread = threads_[i];
    thread.functions = runtime_functions();
    thread.shared = shared_;
    thread.pointers = reinterpret_cast<const void*>(launch.pointers);
    thread.ints = reinterpret_cast<const void*>(launch.ints);
    thread.status = reinterpret_cast<void*>(launch.status);
    thread.thread = static_cast<std::int32_t>(i);
    thread.lane = static_cast<std::int32_t>(i % warp_lanes);
    thread.blocks = static_cast<std::int32_t>(launch.blocks);
    thread.home = this;
  }
}

void Multiprocessor::begin_block(std::int32_t block) {
  ++counts_.blocks;
  block_ = block;
  if (meter_) meter_->begin_block();
  clocks_.begin_block();
  shared_shadow_.begin_block();
  for (std::size_t i = 0; i < shared_bytes_; i += sizeof(poison_word))
    std::memcpy(shared_ + i, &poison_word, sizeof(poison_word));
  at_block_barrier_ = ended_ = last_ = 0;
  for (Warp& warp : warps_) {
    warp.ended = 0;
    warp.pending.clear();
  }
  for (NamedBarrier& barrier : named_) barrier.arrived.clear();
  for (Mbarrier& barrier : mbarriers_) {
    barrier.alive = false;
    barrier.following.clear();
  }
  for (int i = 0; i < thread_count_; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(i)];
    thread.block = block;
    thread.executions = meter_ ? meter_->executions_of(i) : uncounted_.data();
    thread.fiber = nullptr;
    thread.waiting = Waiting::Nothing;
    thread.copies.clear();
    thread.first_copy = thread.groups = 0;
    runnable_[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
  }
}

void Multiprocessor::run_block(std::int32_t block) {
  begin_block(block);
  starting_ = next_thread();
  transfer(idle_fiber());
  if (!report_ && ended_ < thread_count_) note_stuck();
  for (const Mbarrier& barrier : mbarriers_) {
    if (report_ || barrier.following.empty()) continue;
    const Thread& thread = threads_[static_cast<std::size_t>(barrier.following.front().thread)];
    note(Fault::Unfinished, thread, thread.copies.front().site,
         "the block ends, and nobody has waited for the copy, which the mbarrier at byte {} of "
         "shared memory was to follow",
         barrier.offset);
  }
  if (report_) abandon_fibers();
  if (meter_) meter_->end_block();
}

}  // namespace dyn::ptx::emulation
