#pragma once
// Executes one launch on the calling thread of the host: a block runs until it ends, or until all
// of its threads wait and one of them waits for another block; then another one runs.

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rkernel/target/device.hpp"
#include "targets/ptx/emulator/counters/launch_meter.hpp"
#include "targets/ptx/emulator/memory/global_shadow.hpp"
#include "targets/ptx/emulator/memory/report.hpp"
#include "targets/ptx/emulator/multiprocessor/emulated_kernel.hpp"
#include "targets/ptx/emulator/multiprocessor/fiber.hpp"
#include "targets/ptx/emulator/multiprocessor/resident_block.hpp"

namespace dyn::ptx::emulation {

/// Memory that atomic operations of a launch have met.
struct AtomicPlace {
  Knowledge released;         ///< into it
  std::uint64_t changes = 0;  ///< of its value
};

class Multiprocessor {
 public:
  /// Runs the blocks of a launch, which begin in this order, no more than `most_resident` of them
  /// at once; the first fault ends it. `ints_bytes` as GlobalShadow has it. `counting`:
  /// take_counters() has its counters afterwards.
  std::optional<FaultReport> run(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch,
                                 std::span<const std::int32_t> blocks, std::size_t most_resident,
                                 std::size_t ints_bytes, bool counting);
  EmulatorCounts take_counts();
  std::optional<KernelCounters> take_counters() {
    return meter_ ? std::optional(meter_->take()) : std::nullopt;
  }

  // Functions that generated code calls, each on the fiber of its thread.
  void load_global(Thread& thread, const char* address, std::uint32_t site);
  void store_global(Thread& thread, const char* address, std::uint32_t site);
  void store_status(Thread& thread, const char* address, std::uint32_t site);
  void load_shared(Thread& thread, const char* address, std::uint32_t site);
  void store_shared(Thread& thread, const char* address, std::uint32_t site);

  void block_barrier(Thread& thread, std::uint32_t site);
  void named_barrier(Thread& thread, std::uint32_t site, std::uint32_t number,
                     std::uint32_t expected);
  /// The thread's operands hold what the operation needs; its results are there afterwards.
  void together(Thread& thread, std::uint32_t site, Op op, std::uint32_t mask);

  void copy(Thread& thread, std::uint32_t site, const char* to, const char* from,
            std::uint32_t bytes, std::uint32_t from_bytes);
  void commit_copies(Thread& thread);
  void wait_for_copies(Thread& thread, std::uint32_t groups_left);
  void arrive_after_copies(Thread& thread, std::uint32_t site, const char* barrier);

  void barrier_init(Thread& thread, std::uint32_t site, const char* barrier,
                    std::uint32_t expected);
  std::uint64_t barrier_arrive(Thread& thread, std::uint32_t site, const char* barrier);
  bool barrier_test_wait(Thread& thread, std::uint32_t site, const char* barrier,
                         std::uint32_t parity);
  void barrier_invalidate(Thread& thread, std::uint32_t site, const char* barrier);

  void fence(Thread& thread) { here_->clocks.fence(thread.thread); }
  std::uint32_t atomic_add(Thread& thread, std::uint32_t site, char* address, std::uint32_t value);

 private:
  // Launches and blocks (multiprocessor.cpp).
  void begin(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch,
             std::size_t ints_bytes);
  void prepare(ResidentBlock& place, const rkernel::DeviceLaunch& launch);

  // Blocks (blocks.cpp).
  void run_blocks(const rkernel::DeviceLaunch& launch, std::span<const std::int32_t> blocks,
                  std::size_t most_resident);
  ResidentBlock& free_place(const rkernel::DeviceLaunch& launch);
  ResidentBlock* take_woken();
  bool ask_again();
  void begin_block(ResidentBlock& place, std::int32_t block);
  void run_here(ResidentBlock& block);
  void end_block();
  void note_blocks_stuck(std::size_t not_begun, std::size_t most_resident);

  void wake_who_asked(const char* address);

  // Turns (turns.cpp).
  static void serve(void* self);
  void wait(Thread& thread, Waiting what, std::uint32_t site, std::uint32_t awaited);
  void wake(Thread& thread) { wake(*here_, thread); }
  static void wake(ResidentBlock& block, Thread& thread);
  void end(Thread& thread);
  void go_on(bool blocked);
  Thread* next_thread();
  Fiber& idle_fiber();
  void make_fibers(std::size_t idle);
  void transfer(Fiber& to);
  void abandon_fibers();

  // Completing copies at the latest point (copies.cpp).
  void complete(Thread& thread, Copy& copy, int agent, Epoch epoch);
  void forget_complete_copies(Thread& thread);
  bool is_followed(const Thread& thread, std::size_t copy) const;
  bool settle();

  // mbarriers (mbarriers.cpp).
  Mbarrier& mbarrier_at(Thread& thread, std::uint32_t site, const char* address);
  std::uint32_t mbarrier_offset(Thread& thread, std::uint32_t site, const char* address);
  void expect_arrival(Thread& thread, std::uint32_t site, const Mbarrier& barrier);
  void arrived(Mbarrier& barrier);

  // Warps (warps.cpp).
  Rendezvous& rendezvous(Thread& thread, std::uint32_t site, std::uint32_t mask);
  void perform(Op op, Thread* lanes, std::uint32_t mask);
  void perform_shuffle(Op op, Thread* lanes, std::uint32_t mask);
  void perform_load_matrix(Op op, Thread* lanes);
  void perform_multiply(Op op, Thread* lanes);

  // Faults (faults.cpp). stop() leaves a stack without destroying anything on it.
  template <class... Args>
  void note(Fault fault, const Thread& thread, std::uint32_t site,
            fmt::format_string<Args...> format, Args&&... args) {
    begin_report(fault, thread, site);
    report_->text = fmt::format(format, std::forward<Args>(args)...);
  }
  void begin_report(Fault fault, const Thread& thread, std::uint32_t site);
  [[noreturn]] void stop();
  [[noreturn]] void fail_global(const Thread& thread, std::uint32_t site, const char* verb,
                                const char* address, std::uint32_t bytes);
  [[noreturn]] void fail_shared(const Thread& thread, std::uint32_t site, const char* verb,
                                std::uint32_t offset, std::uint32_t bytes);
  [[noreturn]] void fail_alignment(const Thread& thread, std::uint32_t site, const char* verb,
                                   const char* address, std::uint32_t alignment);
  [[noreturn]] void fail_outside(const Thread& thread, std::uint32_t site, const char* verb,
                                 const char* address, std::uint32_t bytes);
  void note_global(const Thread& thread, std::uint32_t site, const char* verb, const char* address,
                   std::uint32_t bytes);
  void note_shared(const Thread& thread, std::uint32_t site, const char* verb, std::uint32_t offset,
                   std::uint32_t bytes);
  std::string other_of(const Conflict& conflict) const;
  void note_stuck();
  std::string who_waits(const ResidentBlock& block) const;

  std::uint32_t shared_offset(const char* address) const {
    return static_cast<std::uint32_t>(address - here_->shared);
  }
  bool in_shared(const char* address, std::uint32_t bytes) const {
    const std::size_t offset = static_cast<std::size_t>(address - here_->shared);
    return offset < shared_bytes_ && shared_bytes_ - offset >= bytes;
  }
  void meter_global(const Thread& thread, std::uint32_t site, const char* address,
                    std::uint32_t bytes) {
    if (meter_)
      meter_->global(thread.thread, site, reinterpret_cast<std::uintptr_t>(address), bytes);
  }
  std::uint32_t lane_bit(const Thread& thread) const { return 1u << thread.lane; }
  Warp& warp_of(const Thread& thread) {
    return here_->warps[static_cast<std::size_t>(thread.thread / warp_lanes)];
  }

  const EmulatedKernel* kernel_ = nullptr;
  const char* name_ = "";
  int thread_count_ = 0;
  std::size_t shared_bytes_ = 0;

  ResidentBlock* here_ = nullptr;                       ///< the block that runs
  std::vector<std::unique_ptr<ResidentBlock>> places_;  ///< for blocks
  std::size_t prepared_ = 0;                            ///< of them, for this launch
  std::vector<ResidentBlock*> free_, waiting_;          ///< waiting_: the longest first
  int idle_rounds_ = 0;  ///< since a place of atomic operations changed, or a block began or ended

  Thread* starting_ = nullptr;
  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* running_ = nullptr;

  Timeline timeline_;
  GlobalShadow global_shadow_;
  std::unordered_map<const char*, AtomicPlace> atomic_places_;

  std::optional<FaultReport> report_;
  EmulatorCounts counts_;
  std::optional<LaunchMeter> meter_;
  std::vector<std::uint32_t> uncounted_;  ///< executions where there is no meter
};

}  // namespace dyn::ptx::emulation
