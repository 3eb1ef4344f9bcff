#pragma once
// The memory of runs in flight: one Run for each, reused.

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "src/runtime/device_run.hpp"
#include "src/runtime/helpers.hpp"
#include "src/runtime/memory_block.hpp"
#include "src/runtime/model.hpp"
#include "src/runtime/plan.hpp"
#include "src/runtime/tickets.hpp"
#include "src/runtime/wiring.hpp"

namespace dyn::runtime {

/// One run in flight: its arena, scratch memory and argument blocks. Belongs to one caller while it is taken; helpers look at
/// its board only.
class Run {
 public:
  /// Makes ready for a plan; does nothing where the last run had the same. Throws Error(device) for no memory.
  void bind(const PlanPtr& plan, const Wiring& wiring);
  /// Tells where inputs, outputs and states are this time.
  void set_ports(std::span<void* const> inputs, std::span<void* const> outputs, std::span<void* const> states);
  /// Returns the index of the group that reported a status other than Ok (and stopped there), or -1. Allocates nothing. Throws
  /// Error(device) for what the device refuses; the next bind() makes all ready again.
  int execute(Helpers& helpers, RunProfile* profile);
  rkernel::Status status() const { return static_cast<rkernel::Status>(status_.load(std::memory_order_relaxed)); }

 private:
  friend class RunPool;

  struct PortSlot {
    std::size_t operand;
    int port;
    OperandSource::Kind kind;  ///< Input, Output or State
  };
  void launch(std::size_t group, Helpers& helpers);
  bool try_take();
  /// Gives back all memory, on host and device; the next bind() takes it anew.
  void release();
  std::size_t bytes() const;
  int execute_host(Helpers& helpers, RunProfile* profile);
  int execute_steps(Helpers& helpers, RunProfile* profile);
  int take_steps(Helpers& helpers, RunProfile* profile);
  std::size_t take_step(const Step& step, Helpers& helpers, bool profiled);

  TicketBoard board_;
  std::atomic<bool> taken_{true};
  Run* next_ = nullptr;  ///< in the pool's list; set before the run is published

  PlanPtr plan_;
  MemoryBlock arena_, scratch_;
  std::size_t scratch_stride_ = 0;
  std::vector<void*> pointers_;
  std::vector<PortSlot> port_slots_;
  std::vector<rkernel::KernelArgs> args_;
  std::atomic<std::int32_t> status_{0};

  rkernel::Device* device_ = nullptr;  ///< the pool's
  const Wiring* wiring_ = nullptr;
  std::unique_ptr<DeviceRun> on_device_;  ///< only where the wiring has groups on the device
};

/// A list that only grows: as many runs as were ever in flight at once. Taking and returning one is lock-free.
class RunPool final : public Workplace, public std::enable_shared_from_this<RunPool> {
 public:
  /// `device`: of the groups that run there; must outlive close().
  static std::shared_ptr<RunPool> make(int threads, std::shared_ptr<rkernel::Device> device = nullptr);
  ~RunPool() override;

  /// `preferred` where it is free (it has the caller's plan), else any other, else a new one.
  Run* take(Run* preferred);
  void give_back(Run* run);

  /// Makes a run that is taken ready for a plan. Where there is no memory for it, the memory of all idle runs is released, and it is tried
  /// once more. Throws Error(device) as Run::bind does.
  void bind(Run& run, const PlanPtr& plan, const Wiring& wiring);

  /// At the end of the model, with no run in flight: a helper that has not left yet keeps the pool, but not its memory.
  void close();

  bool help(int helper) override;
  Helpers& helpers() { return *helpers_; }
  /// Bytes of all arenas, scratch memory and tables, on host and device. Only for tests, while nothing runs.
  std::size_t bytes() const;

 private:
  RunPool() = default;
  /// Whether there was any memory to release.
  bool release_idle();

  std::atomic<Run*> first_{nullptr};
  std::shared_ptr<rkernel::Device> device_;
  std::unique_ptr<Helpers> helpers_;
};

}  // namespace dyn::runtime
