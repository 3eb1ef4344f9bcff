#pragma once
// The device's part of a run in flight: its stream, its arena, and the tables that its kernels
// read.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/rkernel/target/device.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/runtime/device/budget.hpp"
#include "src/runtime/device/launch_graphs.hpp"
#include "src/runtime/device/port_memory.hpp"
#include "src/runtime/plan/plan.hpp"
#include "src/runtime/plan/wiring.hpp"
#include "src/runtime/session/state_memory.hpp"

namespace dyn::runtime {

/// Bytes of device memory that a run of one plan takes.
struct DeviceNeeds {
  std::size_t arena = 0, shared = 0, tables = 0;

  DeviceNeeds(const Plan& plan, const Wiring& wiring);
  std::size_t sum() const noexcept { return arena + shared + tables; }
};

/// Belongs to one Run. Errors are Error(device) and say which groups they are about; after one,
/// bind() makes all ready again.
class DeviceRun {
 public:
  /// `budget`: nullptr where memory has no limit.
  DeviceRun(rkernel::Device& device, DeviceBudget* budget)
      : device_(device),
        own_(device.make_stream()),
        stream_(own_.get()),
        share_(budget),
        graphs_(device) {}

  /// Work goes there from now on; nullptr: to a stream of its own. What was queued on another one
  /// is over.
  void use_stream(rkernel::Stream* stream);

  /// Gets room for a plan's memory, which is at most the limit. Where there is not enough it gives
  /// back all that it has, and waits.
  void take_room(const DeviceNeeds& needs);
  /// Makes ready for a plan: memory, where it is too small, and the tables. Where memory cannot be
  /// had nothing is bound, and what was there is given back, so that smaller shapes have it.
  void bind(const Plan& plan, const Wiring& wiring);
  /// Gives back all memory when the device has done with it. Statuses that are kept go to the host.
  /// For a run that left, any thread that has taken it may call this.
  void give_up();
  /// The same at once, whatever was kept there: the device has done with it, or has failed.
  void drop() noexcept;

  // A run calls these in this order; none of them allocates memory.
  /// By state of the module; `states` must stay until the run has ended.
  void set_states(std::span<const StateMemory> states);
  /// Ports that lie on the device, and that no group of the host touches, are used where they are.
  void set_ports(std::span<const PortMemory> inputs, std::span<const PortMemory> outputs);
  /// Uploads all tables, where they are not what the last run had. `one_by_one`: each launch will
  /// be waited for.
  void start(bool one_by_one);
  void launch(std::size_t group);
  /// In the direction that the wiring says; nothing for a port that is used where it is.
  void copy(std::size_t transfer, void* host);
  /// Between a port on the device, which groups of the host touch, and its copy on the host.
  void copy_port(rkernel::Space to, void* host, const rkernel::OperandRange& port);
  void wait();
  /// Returns to the caller while the device works; finish() then tells of all runs since the last
  /// one.
  void leave();
  bool has_left() const noexcept { return statuses_kept_; }
  /// Waits for the end. Returns the first group on the device that reported a status other than Ok,
  /// or no_group.
  int finish();
  rkernel::Status status(int group) const {
    return static_cast<rkernel::Status>(statuses_[static_cast<std::size_t>(group)]);
  }

  /// After an error: waits until the device no longer touches memory of this run; errors of this
  /// wait are dropped. What runs that left have reported is kept unless this wait fails.
  void settle() noexcept;
  /// The same, but that is dropped as well.
  void abandon() noexcept;

  std::size_t bytes() const noexcept { return arena_.bytes() + shared_.bytes() + tables_.bytes(); }

 private:
  void reserve(rkernel::DeviceBlock& block, std::size_t bytes, const char* what);
  void reserve_statuses(std::size_t groups);
  void reserve_memory(const Plan& plan, const DeviceNeeds& needs);
  void reserve_tables(std::size_t bytes);
  void fetch_kept_statuses();
  void replace(rkernel::DeviceBlock& block, std::size_t bytes, const char* what);
  void find_ranges(const Plan& plan);
  void find_ports();
  void fill_tables(const Plan& plan);
  void set_operand(std::size_t range, std::size_t word, rkernel::DeviceAddress begin);
  void copy_part(rkernel::Space to, void* host, rkernel::DeviceAddress device, std::size_t bytes);
  std::string groups_in_flight() const;
  /// What fails in this work may be the doing of any group in flight: its errors name them.
  template <typename Work>
  void naming_groups(const Work& work);

  rkernel::Device& device_;
  std::unique_ptr<rkernel::Stream> own_;
  rkernel::Stream* stream_;  ///< `own_`, or the caller's
  const Wiring* wiring_ = nullptr;
  DeviceBudget::Share share_;  ///< at least bytes(), where there is a limit
  rkernel::DeviceBlock arena_;
  rkernel::DeviceBlock shared_;     ///< memory that the blocks of a launch share
  bool counters_are_zero_ = false;  ///< those of shared_
  rkernel::DeviceBlock tables_;  ///< one std::int32_t for each group, its status; then the pointers
                                 ///< of all launches, and their ints
  std::size_t first_word_ = 0;   ///< the place of the pointers

  std::vector<rkernel::OperandRange> buffers_;  ///< by buffer of the device's arena
  /// By operand of the wiring, empty for the host's; after those of each group one for shared_.
  std::vector<rkernel::OperandRange> ranges_;
  std::vector<rkernel::DeviceLaunch>
      launches_;                      ///< by group; no blocks where there is nothing to do
  std::vector<std::uint64_t> words_;  ///< of the tables, as they are uploaded
  bool words_changed_ = false;        ///< since they were uploaded
  /// An operand that is a state.
  struct StateSlot {
    std::size_t range = 0, state = 0;
    std::size_t word = 0;  ///< its address
  };
  std::vector<StateSlot> state_slots_;
  /// A buffer of the arena that is a port's, and that no group of the host touches.
  struct PortBuffer {
    std::size_t buffer = 0;
    OperandSource::Kind kind = OperandSource::Kind::Input;  ///< or Output
    std::size_t port = 0;
    bool is_in_place = false;  ///< the memory is the port's own this time
  };
  std::vector<PortBuffer> port_buffers_;
  std::vector<int> port_of_buffer_;  ///< into port_buffers_, by buffer; -1: no port's
  struct PortSlot {
    std::size_t range = 0, port_buffer = 0;
    std::size_t word = 0;  ///< its address
  };
  std::vector<PortSlot> port_slots_;
  std::span<const StateMemory> states_;
  std::shared_ptr<void> status_memory_;
  std::span<std::int32_t> statuses_;  ///< by group
  bool statuses_kept_ = false;        ///< a run that left may have reported one: in tables_, or,
                                      ///< where these were given up, in statuses_
  std::unique_ptr<rkernel::StreamMark> left_;  ///< behind the last run that left; only with a limit
  LaunchGraphs graphs_;
  int first_in_flight_ = no_group,
      last_in_flight_ = no_group;  ///< groups launched since the last wait
};

}  // namespace dyn::runtime
