#include "src/runtime/run/run_pool.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/system/fp_state.hpp"

namespace dyn::runtime {
namespace {

using Kind = OperandSource::Kind;

/// The device has launches in flight that are predicted to take so long in all, and one more, where
/// the run may end early.
constexpr double most_seconds_in_flight = 1e-3;

Profile::Kind kind_of(const Step& step) {
  switch (step.kind) {
    case Step::Kind::Launch: break;
    case Step::Kind::Copy: return Profile::Kind::copy;
    case Step::Kind::Wait: return Profile::Kind::wait;
  }
  return Profile::Kind::group;
}

}  // namespace

void Run::take_room(const PlanPtr& plan, const Wiring& wiring) {
  if (budget_ == nullptr || !wiring.on_device) return;
  plan_.reset();  // it may lose its memory
  on_device().take_room({*plan, wiring});
}

void Run::bind(const PlanPtr& plan, const Wiring& wiring) {
  plan_.reset();
  arena_.grow(std::max(plan->arena_bytes, arena_alignment), "intermediate tensors");
  scratch_stride_ = scratch_stride(plan->scratch_bytes);
  scratch_.grow(
      std::max(scratch_stride_ * static_cast<std::size_t>(plan->threads), arena_alignment),
      "scratch memory");
  if (plan->shared_bytes > 0) shared_.grow(plan->shared_bytes, "partial results");
  pointers_.resize(wiring.operands.size());
  port_slots_.clear();
  for (std::size_t i = 0; i < wiring.operands.size(); ++i) {
    const OperandSource& source = wiring.operands[i];
    switch (source.kind) {
      case Kind::Arena:
        pointers_[i] = arena_.data() + plan->arena_offsets[static_cast<std::size_t>(source.index)];
        break;
      case Kind::Fixed: pointers_[i] = source.fixed; break;
      case Kind::DeviceArena:
      case Kind::DeviceState:
      case Kind::DeviceFixed: pointers_[i] = nullptr; break;
      case Kind::Input:
      case Kind::Output:
      case Kind::State: port_slots_.push_back({i, source.index, source.kind}); break;
    }
  }
  args_.resize(plan->launches.size());
  for (std::size_t group = 0; group < args_.size(); ++group) {
    const rkernel::Launch& launch = plan->launches[group];
    args_[group] = {pointers_.data() + wiring.first_operand[group], launch.ints.data(), &status_,
                    shared_.data(), launch.kept.get()};
  }
  if (wiring.on_device) {
    on_device().bind(*plan, wiring);
    wiring_ = &wiring;
  }
  plan_ = plan;
}

DeviceRun& Run::on_device() {
  if (!on_device_) on_device_ = std::make_unique<DeviceRun>(*device_, budget_);
  return *on_device_;
}

void Run::use_stream(const Wiring& wiring, rkernel::Stream* stream) {
  if (wiring.on_device) on_device().use_stream(stream);
}

void Run::release() {
  release_host();
  port_copies_memory_.release();
  on_device_.reset();
}

void Run::release_host() noexcept {
  plan_.reset();
  for (MemoryBlock* block : {&arena_, &scratch_, &shared_}) block->release();
  if (memory_ != nullptr) memory_->change(std::exchange(counted_bytes_, 0), 0);
}

std::size_t Run::bytes() const {
  return arena_.size() + scratch_.size() + shared_.size() + port_copies_memory_.size() +
         (on_device_ ? on_device_->bytes() : 0);
}

std::size_t Run::host_bytes_for(const Plan& plan) const {
  return std::max(arena_.size(), plan.arena_bytes) +
         std::max(scratch_.size(),
                  scratch_stride(plan.scratch_bytes) * static_cast<std::size_t>(plan.threads)) +
         std::max(shared_.size(), plan.shared_bytes);
}

bool Run::count_host_bytes(const Plan& plan) noexcept {
  const std::size_t bytes = host_bytes_for(plan);
  if (!memory_->change(counted_bytes_, bytes)) return false;
  counted_bytes_ = bytes;
  return true;
}

bool Run::try_take(State from, State to) {
  return state_.load() == from && state_.compare_exchange_strong(from, to);
}

void Run::drop_device_memory() noexcept {
  plan_.reset();
  if (on_device_) on_device_->drop();
}

void Run::end() noexcept {
  plan_.reset();
  try {
    on_device_->give_up();
  } catch (...) {
    failure_ = std::current_exception();
    on_device_->drop();
  }
}

void Run::set_ports(std::span<const PortMemory> inputs, std::span<const PortMemory> outputs,
                    std::span<const StateMemory> states) {
  for (const PortSlot& slot : port_slots_) {
    const auto port = static_cast<std::size_t>(slot.port);
    pointers_[slot.operand] = slot.kind == Kind::Input    ? inputs[port].host
                              : slot.kind == Kind::Output ? outputs[port].host
                                                          : states[port].host;
  }
  if (!on_device_) return;
  find_port_copies(inputs, outputs);
  on_device_->set_ports(inputs, outputs);
  on_device_->set_states(states);
}

void Run::add_port_copies(Kind kind, std::span<const PortMemory> ports,
                          const std::vector<bool>& on_host) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i].on_device() || !on_host[i]) continue;
    const std::size_t end =
        port_copies_.empty() ? 0 : port_copies_.back().offset + port_copies_.back().device.bytes;
    port_copies_.push_back({ports[i].device,
                            (end + arena_alignment - 1) / arena_alignment * arena_alignment, kind,
                            i});
  }
}

void Run::find_port_copies(std::span<const PortMemory> inputs,
                           std::span<const PortMemory> outputs) {
  port_copies_.clear();
  add_port_copies(Kind::Input, inputs, wiring_->inputs_on_host);
  add_port_copies(Kind::Output, outputs, wiring_->outputs_on_host);
  if (port_copies_.empty()) return;
  port_copies_memory_.grow(
      std::max(port_copies_.back().offset + port_copies_.back().device.bytes, arena_alignment),
      "copies of tensors on a device");
  for (const PortSlot& slot : port_slots_) {
    for (const PortCopy& copy : port_copies_) {
      if (copy.kind == slot.kind && copy.port == static_cast<std::size_t>(slot.port))
        pointers_[slot.operand] = port_copies_memory_.data() + copy.offset;
    }
  }
}

/// Inputs before the first group, which needs them at once; outputs after the last one.
void Run::copy_ports(Kind kind) {
  bool any = false;
  for (const PortCopy& copy : port_copies_) {
    if (copy.kind != kind) continue;
    any = true;
    on_device_->copy_port(kind == Kind::Input ? rkernel::Space::Host : rkernel::Space::Device,
                          port_copies_memory_.data() + copy.offset, copy.device);
  }
  if (any && kind == Kind::Input) on_device_->wait();
}

void Run::run_stage(const Stage& stage, int threads, Helpers::InFlight& in_flight) {
  if (stage.tickets <= 0) return;
  if (threads <= 1 || stage.tickets <= stage.grain) {
    stage.run_tickets(0, stage.tickets, stage.scratch);
    return;
  }
  in_flight.run(stage, threads);
}

/// Has the run been ended? Its status says so then, unless it has failed already.
bool Run::ends() {
  if (control_ == nullptr || !control_->ends()) return false;
  std::int32_t ok = 0;
  status_.compare_exchange_strong(ok, static_cast<std::int32_t>(status_ended));
  return true;
}

Pieces Run::pieces_of(const rkernel::Launch& launch) const {
  return {*control_, launch.predicted_seconds * launch.threads /
                         static_cast<double>(std::max<std::int64_t>(launch.tickets, 1))};
}

void Run::launch(std::size_t group, Helpers::InFlight& in_flight, StepRecorder* recorder) {
  const rkernel::Launch& launch = plan_->launches[group];
  // Without a recorder the stage is not copied: that would wait until its parts are in memory.
  const auto run = [&](const Stage& stage, int number) {
    if (recorder == nullptr) return run_stage(stage, launch.threads, in_flight);
    run_stage(recorder->noted(stage, number, launch.threads), launch.threads, in_flight);
  };
  Pieces pieces;
  Stage stage{launch.function, &args_[group],   launch.tickets,
              launch.grain,    scratch_.data(), scratch_stride_};
  if (control_ != nullptr) {
    pieces = pieces_of(launch);
    stage.pieces = &pieces;
  }
  run(stage, 0);
  if (launch.merge == nullptr) return;
  if (ends()) return;
  // Its tickets may wait for earlier ones: all of them run. Most second stages are short.
  stage.pieces = nullptr;
  stage.function = launch.merge;
  stage.tickets = launch.merge_tickets;
  stage.grain = launch.merge_grain;
  run(stage, 1);
}

int Run::execute(Helpers& helpers, const RunRequest& request, bool leaves) {
  const DefaultFloatingPoint floating_point;
  status_.store(0, std::memory_order_relaxed);
  control_ = request.control;
  leaves_ = leaves;
  Helpers::InFlight in_flight(helpers, plan_->threads, team_);
  return on_device_ ? execute_steps(in_flight, request.profile, leaves)
                    : execute_host(in_flight, request.profile);
}

int Run::execute_host(Helpers::InFlight& in_flight, RunProfile* profile) {
  StepRecorder* const recorder = profile != nullptr ? profile->recorder : nullptr;
  for (std::size_t group = 0; group < plan_->launches.size(); ++group) {
    const TimedStep timed(profile);
    launch(group, in_flight, recorder);
    timed.end(Profile::Kind::group, group);
    if (status_.load(std::memory_order_relaxed) != 0) return static_cast<int>(group);
  }
  return -1;
}

/// A group on the device may have left undone what a later one on the host failed for.
int Run::finish(int failed_on_host) {
  const int on_device = on_device_->finish();
  if (on_device == no_group || (failed_on_host != no_group && failed_on_host < on_device))
    return failed_on_host;
  status_.store(static_cast<std::int32_t>(on_device_->status(on_device)),
                std::memory_order_relaxed);
  return on_device;
}

int Run::wait() {
  try {
    return finish(no_group);
  } catch (...) {
    abandon();
    throw;
  }
}

void Run::abandon() noexcept {
  if (on_device_) on_device_->abandon();
  plan_.reset();
}

void Run::settle() noexcept {
  on_device_->settle();
  plan_.reset();
}

int Run::execute_steps(Helpers::InFlight& in_flight, RunProfile* profile, bool leaves) {
  try {
    seconds_in_flight_ = 0;
    on_device_->start(launches_one_by_one(profile));
    copy_ports(Kind::Input);
    const int on_host = take_steps(in_flight, profile);
    if (on_host == no_group) copy_ports(Kind::Output);
    if (!leaves || on_host != no_group) return finish(on_host);
    on_device_->leave();
    return no_group;
  } catch (...) {
    settle();
    throw;
  }
}

int Run::take_steps(Helpers::InFlight& in_flight, RunProfile* profile) {
  for (const Step& step : wiring_->steps) {
    const TimedStep timed(profile);
    const std::size_t group = take_step(step, in_flight, profile);
    timed.end(kind_of(step), group);
    if (status_.load(std::memory_order_relaxed) != 0) return static_cast<int>(group);
  }
  return no_group;
}

/// A graph of launches has no place to wait in.
bool Run::launches_one_by_one(const RunProfile* profile) const {
  return profile != nullptr ||
         (control_ != nullptr && !leaves_ && plan_->predicted_seconds() > most_seconds_in_flight);
}

/// The device does not hear of a run's end: what it has is waited for.
void Run::bound_work_in_flight(const rkernel::Launch& launch) {
  seconds_in_flight_ += launch.predicted_seconds;
  if (seconds_in_flight_ < most_seconds_in_flight) return;
  on_device_->wait();
  seconds_in_flight_ = 0;
}

/// Returns the group that the step's time is counted for. With a profile every step is waited for,
/// so that this time is its own.
std::size_t Run::take_step(const Step& step, Helpers::InFlight& in_flight, RunProfile* profile) {
  std::size_t group = step.index;
  bool device_works = true;
  switch (step.kind) {
    case Step::Kind::Wait: break;
    case Step::Kind::Copy: {
      const Transfer& transfer = wiring_->transfers[step.index];
      on_device_->copy(step.index, pointers_[wiring_->first_operand.back() + step.index]);
      group =
          static_cast<std::size_t>(transfer.reader != no_group ? transfer.reader : transfer.writer);
      break;
    }
    case Step::Kind::Launch:
      device_works = wiring_->spaces[group] == rkernel::Space::Device;
      if (ends()) return group;
      if (!device_works) {
        launch(group, in_flight, profile != nullptr ? profile->recorder : nullptr);
        break;
      }
      on_device_->launch(group);
      if (control_ != nullptr && !leaves_) bound_work_in_flight(plan_->launches[group]);
      break;
  }
  if (step.kind == Step::Kind::Wait || (profile != nullptr && device_works)) on_device_->wait();
  return group;
}

RunPool::RunPool(int threads, std::shared_ptr<rkernel::Device> device,
                 std::shared_ptr<DeviceBudget> budget, const std::shared_ptr<Executor>& executor,
                 std::shared_ptr<MemoryBudget> memory, std::shared_ptr<Allocator> allocator)
    : device_(std::move(device)),
      budget_(std::move(budget)),
      helpers_(Helpers::of(executor, threads)),
      memory_(std::move(memory)),
      allocator_(std::move(allocator)) {
  if (budget_) budget_->join(*this);
  if (memory_) memory_->join(*this);
}

RunPool::~RunPool() {
  if (memory_) memory_->leave(*this);
  if (budget_) budget_->leave(*this);
  for (Run* run = first_.load(); run != nullptr;) {
    run->release();
    delete std::exchange(run, run->next_);
  }
}

Run* RunPool::take(Run* preferred) {
  const auto try_take = [](Run& run) { return run.try_take(Run::State::Idle, Run::State::Taken); };
  if (preferred != nullptr && try_take(*preferred)) return preferred;
  for (Run* run = first_.load(std::memory_order_acquire); run != nullptr; run = run->next_) {
    if (try_take(*run)) return run;
  }
  Run* run = new Run(allocator_);
  run->device_ = device_.get();
  run->budget_ = budget_.get();
  run->memory_ = memory_.get();
  run->next_ = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(run->next_, run, std::memory_order_release,
                                       std::memory_order_relaxed)) {}
  return run;
}

void RunPool::give_back(Run* run) {
  if (!budget_) {
    run->state_.store(Run::State::Idle, std::memory_order_release);
    return;
  }
  // Else its caller might take it again before whoever waits does, each time.
  if (budget_->awaited()) run->drop_device_memory();
  run->state_.store(Run::State::Idle);
  budget_->run_is_free();
}

void RunPool::leave(Run* run) {
  if (!budget_) return;
  run->state_.store(Run::State::Left);
  budget_->run_is_free();
}

void RunPool::take_back(Run* run) {
  if (!budget_) return;
  while (!run->try_take(Run::State::Left, Run::State::Taken)) run->state_.wait(Run::State::Ending);
  if (!run->failure_) return;
  run->abandon();
  std::rethrow_exception(std::exchange(run->failure_, nullptr));
}

/// `take` gets a run that holds device memory, and that nobody else touches meanwhile.
template <class Take>
bool RunPool::take_memory_of_one(Run::State from, Run::State meanwhile, const Take& take) noexcept {
  for (Run* run = first_.load(std::memory_order_acquire); run != nullptr; run = run->next_) {
    if (!run->try_take(from, meanwhile)) continue;
    const bool any = run->holds_device_memory();
    if (any) take(*run);
    run->state_.store(from);
    run->state_.notify_all();
    if (any) return true;
  }
  return false;
}

bool RunPool::release_one() noexcept {
  return take_memory_of_one(Run::State::Idle, Run::State::Taken,
                            [](Run& run) { run.drop_device_memory(); });
}

bool RunPool::end_one() noexcept {
  return take_memory_of_one(Run::State::Left, Run::State::Ending, [](Run& run) { run.end(); });
}

void RunPool::check_limit(const Plan& plan, const Wiring& wiring) const {
  if (!budget_ || !wiring.on_device) return;
  const DeviceNeeds needs(plan, wiring);
  if (needs.sum() <= budget_->limit()) return;
  throw Error(
      ErrorKind::device,
      fmt::format("a run of this shape needs {} bytes of the memory of {} ({} for intermediate "
                  "tensors, {} for partial sums, {} for tables), and all runs of the graph "
                  "together may hold {} (Options::device_memory, --device-memory): raise that, or "
                  "run smaller shapes",
                  needs.sum(), device_->name(), needs.arena, needs.shared, needs.tables,
                  budget_->limit()));
}

/// Where there is no room, the run itself gives back what it has, which may be large where the plan
/// is small; then all runs of the graph do that are over.
void RunPool::reserve(Run& run, const Plan& plan) {
  if (!memory_ || run.count_host_bytes(plan)) return;
  if (!run.has_left()) run.release_host();
  if (run.count_host_bytes(plan)) return;
  memory_->release_idle();
  if (!run.count_host_bytes(plan)) memory_->refuse(run.host_bytes_for(plan) - run.counted_bytes_);
}

void RunPool::bind(Run& run, const PlanPtr& plan, const Wiring& wiring) {
  if (run.plan_ == plan) return;
  check_limit(*plan, wiring);
  reserve(run, *plan);
  run.take_room(plan, wiring);
  try {
    run.bind(plan, wiring);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device || !release_idle()) throw;
    run.take_room(plan, wiring);
    run.bind(plan, wiring);
  }
}

bool RunPool::release_idle() {
  bool any = false;
  for (Run* run = first_.load(std::memory_order_acquire); run != nullptr; run = run->next_) {
    if (!run->try_take(Run::State::Idle, Run::State::Taken)) continue;
    any = any || run->bytes() > 0;
    run->release();
    give_back(run);
  }
  return any;
}

std::size_t RunPool::bytes() const {
  std::size_t sum = 0;
  for (const Run* run = first_.load(); run != nullptr; run = run->next_) sum += run->bytes();
  return sum;
}

}  // namespace dyn::runtime
