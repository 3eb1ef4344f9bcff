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
#include "src/runtime/plan/plan.hpp"
#include "src/runtime/plan/wiring.hpp"
#include "src/runtime/session/state_memory.hpp"

namespace dyn::runtime {

/// Belongs to one Run. Errors are Error(device) and say which groups they are about; after one,
/// bind() makes all ready again.
class DeviceRun {
 public:
  explicit DeviceRun(rkernel::Device& device) : device_(device), stream_(device.make_stream()) {}

  /// Makes ready for a plan: memory, where it is too small, and the tables. Where memory cannot be
  /// had nothing is bound, and what was there is given back, so that smaller shapes have it.
  void bind(const Plan& plan, const Wiring& wiring);

  // A run calls these in this order; none of them allocates memory.
  /// By state of the module; `states` must stay until the run has ended.
  void set_states(std::span<const StateMemory> states);
  void start();  ///< uploads all tables, where they are not what the last run had
  void launch(std::size_t group);
  void copy(std::size_t transfer, void* host);  ///< in the direction that the wiring says
  void wait();
  /// Waits for the end. Returns the first group on the device that reported a status other than Ok,
  /// or no_group.
  int finish();
  rkernel::Status status(int group) const {
    return static_cast<rkernel::Status>(statuses_[static_cast<std::size_t>(group)]);
  }

  /// After an error: waits until the device no longer touches memory of this run; errors of this
  /// wait are dropped.
  void abandon() noexcept;

  std::size_t bytes() const noexcept { return arena_.bytes() + shared_.bytes() + tables_.bytes(); }

 private:
  void reserve(rkernel::DeviceBlock& block, std::size_t bytes, const char* what);
  void find_ranges(const Plan& plan);
  void fill_tables(const Plan& plan);
  void copy_part(rkernel::Space to, void* host, rkernel::DeviceAddress device, std::size_t bytes);
  std::string groups_in_flight() const;
  /// What fails in this work may be the doing of any group in flight: its errors name them.
  template <typename Work>
  void naming_groups(const Work& work);

  rkernel::Device& device_;
  std::unique_ptr<rkernel::Stream> stream_;
  const Wiring* wiring_ = nullptr;
  rkernel::DeviceBlock arena_;
  rkernel::DeviceBlock shared_;     ///< memory that the blocks of a launch share
  bool counters_are_zero_ = false;  ///< those of shared_
  rkernel::DeviceBlock tables_;     ///< the pointers of all launches, their ints, then one
                                    ///< std::int32_t for each group: its status

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
  std::span<const StateMemory> states_;
  rkernel::DeviceAddress status_table_ = 0;
  std::vector<std::int32_t> statuses_;  ///< by group
  int first_in_flight_ = no_group,
      last_in_flight_ = no_group;  ///< groups launched since the last wait
};

}  // namespace dyn::runtime
