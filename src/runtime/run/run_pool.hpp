#pragma once
// The memory of runs in flight: one Run for each, reused.

#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "src/runtime/device/budget.hpp"
#include "src/runtime/device/run.hpp"
#include "src/runtime/plan/plan.hpp"
#include "src/runtime/plan/wiring.hpp"
#include "src/runtime/run/helpers.hpp"
#include "src/runtime/run/memory_budget.hpp"
#include "src/runtime/run/run_request.hpp"
#include "src/runtime/system/memory_block.hpp"

namespace dyn::runtime {

/// One run in flight: its arena, scratch memory and argument blocks. Belongs to one caller while it
/// is taken.
class Run {
 public:
  /// `allocator`: of its memory on the host; nullptr: the system.
  explicit Run(const std::shared_ptr<Allocator>& allocator = nullptr)
      : arena_(allocator),
        scratch_(allocator),
        shared_(allocator),
        port_copies_memory_(allocator) {}
  /// Gets room for a plan's memory on the device, where that has a limit; may wait for other runs.
  /// Before bind(). Throws what a run that left has come to.
  void take_room(const PlanPtr& plan, const Wiring& wiring);
  /// Makes ready for a plan. Throws Error(device) for no memory.
  void bind(const PlanPtr& plan, const Wiring& wiring);
  /// Tells where inputs, outputs and states are this time; all stay where they are until the run
  /// has ended. Throws Error(device) where there is no memory for copies of ports on the device.
  void set_ports(std::span<const PortMemory> inputs, std::span<const PortMemory> outputs,
                 std::span<const StateMemory> states);
  /// Work on the device goes to this stream of the caller's; nullptr: to one of its own. Before
  /// bind().
  void use_stream(const Wiring& wiring, rkernel::Stream* stream);
  /// Returns the index of the group that reported a status other than Ok (and stopped there), or
  /// -1. Allocates nothing. Throws Error(device) for what the device refuses; the next bind() makes
  /// all ready again.
  /// Where the request's control ends the run early, the status is status_ended.
  int execute(Helpers& helpers, const RunRequest& request) {
    return execute(helpers, request, false);
  }
  /// With `leaves`, and where no group has failed yet, it returns -1 while the device works, and
  /// wait() tells what became of it: until then the run stays its caller's.
  int execute(Helpers& helpers, const RunRequest& request, bool leaves);
  int wait();
  /// Runs have left of which wait() is to tell.
  bool has_left() const { return on_device_ && on_device_->has_left(); }
  /// Waits until the device no longer touches memory of this run, whatever became of it and of
  /// those that left.
  void abandon() noexcept;
  /// Where kernels on the host report; kernels know the run by it.
  const std::atomic<std::int32_t>* host_status() const noexcept { return &status_; }
  rkernel::Status status() const {
    return static_cast<rkernel::Status>(status_.load(std::memory_order_relaxed));
  }

 private:
  friend class RunPool;

  struct PortSlot {
    std::size_t operand;
    int port;
    OperandSource::Kind kind;  ///< Input, Output or State
  };
  /// A port on the device that groups of the host touch: they see a copy.
  struct PortCopy {
    rkernel::OperandRange device;
    std::size_t offset = 0;                                 ///< in port_copies_memory_
    OperandSource::Kind kind = OperandSource::Kind::Input;  ///< or Output
    std::size_t port = 0;
  };
  void find_port_copies(std::span<const PortMemory> inputs, std::span<const PortMemory> outputs);
  void add_port_copies(OperandSource::Kind kind, std::span<const PortMemory> ports,
                       const std::vector<bool>& on_host);
  void copy_ports(OperandSource::Kind kind);
  void run_stage(const Stage& stage, int threads, Helpers::InFlight& in_flight);
  bool ends();
  Pieces pieces_of(const rkernel::Launch& launch) const;
  void launch(std::size_t group, Helpers::InFlight& in_flight, StepRecorder* recorder);
  /// Who may touch the run: nobody, so that anybody may take it; its caller; for a moment whoever
  /// needs its memory, in place of either. One that is Left has work on the device, and belongs to
  /// its caller still.
  enum class State : int { Idle, Taken, Left, Ending };
  bool try_take(State from, State to);
  /// The device's memory alone, of a run that is over.
  void drop_device_memory() noexcept;
  bool holds_device_memory() const { return on_device_ && on_device_->bytes() > 0; }
  /// The device's memory alone, of a run that is Ending: waits for its work. What this fails with
  /// is for its caller.
  void end() noexcept;
  /// Gives back all memory, on host and device; the next bind() takes it anew.
  void release();
  std::size_t bytes() const;
  /// The host's memory alone, of a run that is taken and has not left.
  void release_host() noexcept;
  /// The blocks that a plan needs on the host, each at least as large as it is.
  std::size_t host_bytes_for(const Plan& plan) const;
  /// Counts these in the host's budget. False where there is no room.
  bool count_host_bytes(const Plan& plan) noexcept;
  int execute_host(Helpers::InFlight& in_flight, RunProfile* profile);
  int execute_steps(Helpers::InFlight& in_flight, RunProfile* profile, bool leaves);
  int finish(int failed_on_host);
  /// As DeviceRun's.
  void settle() noexcept;
  DeviceRun& on_device();
  int take_steps(Helpers::InFlight& in_flight, RunProfile* profile);
  std::size_t take_step(const Step& step, Helpers::InFlight& in_flight, RunProfile* profile);
  bool launches_one_by_one(const RunProfile* profile) const;
  void bound_work_in_flight(const rkernel::Launch& launch);

  Team* team_ = nullptr;  ///< of the last run on several threads; belongs to the helpers
  std::atomic<State> state_{State::Taken};
  Run* next_ = nullptr;  ///< in the pool's list; set before the run is published

  PlanPtr plan_;
  MemoryBlock arena_, scratch_, shared_;
  std::size_t scratch_stride_ = 0;
  std::vector<void*> pointers_;
  std::vector<PortSlot> port_slots_;
  std::vector<rkernel::KernelArgs> args_;
  std::atomic<std::int32_t> status_{0};
  const RunControl* control_ = nullptr;  ///< of the run in flight
  bool leaves_ = false;                  ///< the run in flight may return while the device works
  double seconds_in_flight_ = 0;         ///< of launches since the device was waited for, predicted

  rkernel::Device* device_ = nullptr;  ///< the pool's
  DeviceBudget* budget_ = nullptr;     ///< the pool's; nullptr: device memory has no limit
  MemoryBudget* memory_ = nullptr;     ///< the pool's; nullptr: the host's has no limit
  std::size_t counted_bytes_ = 0;      ///< there
  std::exception_ptr failure_;         ///< of end(), until take_back()
  const Wiring* wiring_ = nullptr;
  std::vector<PortCopy> port_copies_;
  MemoryBlock port_copies_memory_;
  std::unique_ptr<DeviceRun> on_device_;  ///< only where the wiring has groups on the device
};

/// A list that only grows: as many runs as were ever in flight at once. Taking and returning one is
/// lock-free.
class RunPool final : private DeviceBudget::Holder, private MemoryBudget::Holder {
 public:
  /// `threads`: of a run, its caller included. `device`: of the groups that run there. `budget`: of
  /// device memory; nullptr: it has no limit. `executor`: whose threads help; nullptr: dyn's.
  /// `memory`: bounds the host's; nullptr: it has no limit. `allocator`: gives it; nullptr: the
  /// system.
  explicit RunPool(int threads, std::shared_ptr<rkernel::Device> device = nullptr,
                   std::shared_ptr<DeviceBudget> budget = nullptr,
                   const std::shared_ptr<Executor>& executor = nullptr,
                   std::shared_ptr<MemoryBudget> memory = nullptr,
                   std::shared_ptr<Allocator> allocator = nullptr);
  ~RunPool() override;
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  /// `preferred` where it is free (it has the caller's plan), else any other, else a new one.
  Run* take(Run* preferred);
  void give_back(Run* run);
  /// The run has left work on the device: until take_back() its memory may be taken when the work
  /// is over.
  void leave(Run* run);
  /// Throws what went wrong in the meantime, which is all that is told of it; the run is taken all
  /// the same.
  void take_back(Run* run);
  /// Somebody waits for device memory: runs should end before they return.
  bool awaited() const { return budget_ && budget_->awaited(); }

  /// Makes a run that is taken ready for a plan; does nothing where it ran by the same last. Where
  /// there is no memory for it, the memory of all idle runs is released, and it is tried once more;
  /// beyond the limit of the device's memory it waits for other runs. Throws Error(device) as
  /// Run::bind does, and where the plan alone needs more than the limit.
  void bind(Run& run, const PlanPtr& plan, const Wiring& wiring);

  /// Returns whether there was any memory of idle runs to release.
  bool release_idle() override;

  Helpers& helpers() { return *helpers_; }
  /// Bytes of all arenas, scratch memory and tables, on host and device. Only for tests, while
  /// nothing runs.
  std::size_t bytes() const;

 private:
  bool release_one() noexcept override;
  bool end_one() noexcept override;
  template <class Take>
  bool take_memory_of_one(Run::State from, Run::State meanwhile, const Take& take) noexcept;
  void check_limit(const Plan& plan, const Wiring& wiring) const;
  void reserve(Run& run, const Plan& plan);

  std::atomic<Run*> first_{nullptr};
  const std::shared_ptr<rkernel::Device> device_;
  const std::shared_ptr<DeviceBudget> budget_;
  const std::shared_ptr<Helpers> helpers_;
  const std::shared_ptr<MemoryBudget> memory_;
  const std::shared_ptr<Allocator> allocator_;
};

}  // namespace dyn::runtime
