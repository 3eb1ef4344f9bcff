#pragma once
// Executes one launch, block after block, on the calling thread of the host.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/device.hpp"
#include "targets/ptx/emulator/counters/launch_meter.hpp"
#include "targets/ptx/emulator/memory/clocks.hpp"
#include "targets/ptx/emulator/memory/global_shadow.hpp"
#include "targets/ptx/emulator/memory/report.hpp"
#include "targets/ptx/emulator/memory/shared_shadow.hpp"
#include "targets/ptx/emulator/multiprocessor/emulated_kernel.hpp"
#include "targets/ptx/emulator/multiprocessor/fiber.hpp"
#include "targets/ptx/emulator/multiprocessor/lanes.hpp"

namespace dyn::ptx::emulation {

class Multiprocessor;

/// The event that a thread waits for.
enum class Waiting : std::uint8_t { Nothing, Block, Named, Warp, Phase, Ended };

/// An asynchronous copy: its bytes are read and written when a thread may rely on them, not before.
struct Copy {
  const char* from = nullptr;
  std::uint32_t to = 0;  ///< offset in shared memory
  std::uint32_t bytes = 0, from_bytes = 0;
  std::uint32_t site = 0;
  std::uint64_t group = 0;  ///< groups that the thread had committed before
  bool complete = false;
};

struct Thread : ThreadContext {
  Multiprocessor* home = nullptr;
  Fiber* fiber = nullptr;  ///< nullptr: has not begun, or has ended
  Waiting waiting = Waiting::Nothing;
  std::uint32_t site = 0;  ///< where it waits
  std::uint32_t awaited =
      0;  ///< the mask of lanes, the number of the named barrier, the mbarrier's offset
  LaneOperands operands = {};    ///< its lane's part in the operation of its warp
  std::vector<Copy> copies;      ///< copies since the last time that all were complete
  std::uint64_t first_copy = 0;  ///< copies that the thread had issued before copies[0]
  std::uint64_t groups = 0;      ///< committed
};

/// Lanes of a warp that meet at one operation.
struct Rendezvous {
  std::uint32_t site = 0, mask = 0, arrived = 0;
};
struct Warp {
  std::uint32_t ended = 0;  ///< lanes
  std::vector<Rendezvous> pending;
};

struct NamedBarrier {
  int expected = 0;
  std::vector<int> arrived;
};

/// "mbarrier" in the PTX ISA.
struct Mbarrier {
  /// An arrival that follows when the copies of a thread are complete.
  struct Follows {
    int thread = 0;
    std::uint64_t copies = 0;  ///< copies that the thread had issued
    Epoch waited = 0;          ///< when the thread itself waited for some of them
  };
  std::uint32_t offset = 0;
  bool alive = false;
  std::uint32_t expected = 0, missing = 0, phase = 0;
  std::vector<Follows> following;
  Clock gathered,
      completed;  ///< what arrivals of all phases have released, and what those of complete phases
                  ///< have
  std::vector<std::uint32_t>
      doubted;  ///< by thread: the phase in which it last got an unneeded "not yet"
};

class Multiprocessor {
 public:
  /// Runs the blocks of a launch in this order; the first fault ends it. `ints_bytes` as
  /// GlobalShadow has it. `counting`: take_counters() has its counters afterwards.
  std::optional<FaultReport> run(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch,
                                 std::span<const std::int32_t> blocks, std::size_t ints_bytes,
                                 bool counting);
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

 private:
  // Launches and blocks (multiprocessor.cpp).
  void begin(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch,
             std::size_t ints_bytes);
  void run_block(std::int32_t block);
  void begin_block(std::int32_t block);

  // Turns (turns.cpp).
  static void serve(void* self);
  void wait(Thread& thread, Waiting what, std::uint32_t site, std::uint32_t awaited);
  void wake(Thread& thread);
  void end(Thread& thread);
  void go_on(bool blocked);
  Thread* next_thread();
  Fiber& idle_fiber();
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
  std::string who_waits() const;

  std::uint32_t shared_offset(const char* address) const {
    return static_cast<std::uint32_t>(address - shared_);
  }
  bool in_shared(const char* address, std::uint32_t bytes) const {
    const std::size_t offset = static_cast<std::size_t>(address - shared_);
    return offset < shared_bytes_ && shared_bytes_ - offset >= bytes;
  }
  void meter_global(const Thread& thread, std::uint32_t site, const char* address,
                    std::uint32_t bytes) {
    if (meter_)
      meter_->global(thread.thread, site, reinterpret_cast<std::uintptr_t>(address), bytes);
  }
  std::uint32_t lane_bit(const Thread& thread) const { return 1u << thread.lane; }
  Warp& warp_of(const Thread& thread) {
    return warps_[static_cast<std::size_t>(thread.thread / warp_lanes)];
  }

  const EmulatedKernel* kernel_ = nullptr;
  const char* name_ = "";
  int block_ = 0;
  std::size_t shared_bytes_ = 0;
  char* shared_ = nullptr;
  std::vector<char> shared_memory_;

  std::vector<Thread> threads_;
  int thread_count_ = 0, ended_ = 0;
  std::vector<std::uint64_t> runnable_;  ///< one bit for each thread
  int last_ = 0;                         ///< the thread that runs
  Thread* starting_ = nullptr;

  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* running_ = nullptr;

  Clocks clocks_;
  SharedShadow shared_shadow_;
  GlobalShadow global_shadow_;
  std::vector<Warp> warps_;
  int at_block_barrier_ = 0;
  std::uint32_t block_barrier_site_ = 0;
  std::array<NamedBarrier, 16> named_;
  std::vector<Mbarrier> mbarriers_;

  std::optional<FaultReport> report_;
  EmulatorCounts counts_;
  std::optional<LaunchMeter> meter_;
  std::vector<std::uint32_t> uncounted_;  ///< executions where there is no meter
};

}  // namespace dyn::ptx::emulation
