#pragma once
// A device whose memory is the host's, and which works as late as it may: queued work is done in
// synchronise().

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/rkernel/target/device.hpp"

namespace dyn::testing {

/// DeviceLaunch::function of a FakeDevice points to this.
class FakeFunction {
 public:
  virtual ~FakeFunction() = default;
  /// `ints`: as planned; `memory`: the operands' buffers. Returns the status.
  virtual std::int32_t run(const std::int64_t* ints, const std::vector<void*>& memory) const = 0;
};

struct FakeCounts {
  int allocations = 0, uploads = 0, downloads = 0, launches = 0,
      waits = 0;  ///< launches: in graphs, too
  int mark_waits = 0;
  int graphs = 0, replays = 0;
};

/// Checks that every address lies in one allocation, that tables and operands were written before
/// they are read, and that a launch's operands are those of its table. A violation is an
/// Error(internal) of synchronise().
class FakeDevice final : public rkernel::Device {
 public:
  std::string name() const override { return "fake device"; }
  rkernel::DeviceAddress allocate(std::size_t bytes, std::string_view what) override;
  void release(rkernel::DeviceAddress address) noexcept override;
  std::size_t bytes_from(rkernel::DeviceAddress address) const override;
  std::unique_ptr<rkernel::Stream> make_stream() override;
  std::unique_ptr<rkernel::LaunchGraph> make_graph(
      std::span<const rkernel::DeviceLaunch> launches) override;

  // Faults: the call with this number from now on (1: the next) fails; 0: none does.
  int fail_allocation = 0, fail_launch = 0, fail_wait = 0, fail_graph = 0, fail_replay = 0,
      fail_mark = 0;
  /// The same while other threads use the device.
  void fail_next_allocation();
  std::size_t memory_bytes = std::size_t{1} << 30;

  FakeCounts counts() const;
  std::size_t live_blocks() const;
  std::size_t live_bytes() const;
  /// The most bytes "of a run" that were allocated and not yet released at one time.
  std::size_t most_bytes_of_runs() const;
  int live_streams() const;
  int queued_commands() const;   ///< of all streams
  int dropped_commands() const;  ///< of streams that ended with work in their queue
  /// Allocations of host memory by this device, for tests that count other allocations.
  std::int64_t own_allocations() const;

 private:
  friend class FakeStream;
  friend class FakeMark;
  struct Block {
    bool of_run = false;
    std::vector<std::byte> bytes;
    std::vector<bool> known;
  };
  /// The block's bytes at `address`; marks or demands that they are known.
  enum class Access { Read, Write, Any };
  std::byte* at(rkernel::DeviceAddress address, std::size_t bytes, Access access);

  /// What was released goes when no stream has work: a driver waits for it.
  void release_idle();

  mutable std::recursive_mutex mutex_;
  std::vector<rkernel::DeviceAddress> released_;
  std::map<rkernel::DeviceAddress, Block> blocks_;
  rkernel::DeviceAddress next_ = rkernel::DeviceAddress{1} << 56;
  FakeCounts counts_;
  int live_streams_ = 0, queued_commands_ = 0, dropped_commands_ = 0;
  std::int64_t own_allocations_ = 0;
  std::size_t bytes_of_runs_ = 0, most_bytes_of_runs_ = 0;
};

}  // namespace dyn::testing
