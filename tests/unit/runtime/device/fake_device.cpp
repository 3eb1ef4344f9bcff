#include "tests/unit/runtime/device/fake_device.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

namespace dyn::testing {

using rkernel::DeviceAddress;

namespace {

[[noreturn]] void violation(const std::string& text) {
  throw Error(ErrorKind::internal, "fake device: " + text);
}

bool fails(int& countdown) { return countdown > 0 && --countdown == 0; }

}  // namespace

class FakeGraph final : public rkernel::LaunchGraph {
 public:
  explicit FakeGraph(std::span<const rkernel::DeviceLaunch> launches) {
    for (const rkernel::DeviceLaunch& launch : launches) functions.push_back(launch.function);
  }
  std::vector<const void*> functions;
};

class FakeStream;

class FakeMark final : public rkernel::StreamMark {
 public:
  explicit FakeMark(FakeDevice& device) : device_(device) {}
  void wait() override;

  FakeStream* stream = nullptr;
  std::int64_t place = 0;  ///< so many commands of the stream come before it

 private:
  FakeDevice& device_;
};

class FakeStream final : public rkernel::Stream {
 public:
  explicit FakeStream(FakeDevice& device) : device_(device) {}
  ~FakeStream() override {
    const std::lock_guard lock(device_.mutex_);
    --device_.live_streams_;
    device_.queued_commands_ -= static_cast<int>(queue_.size());
    device_.dropped_commands_ += static_cast<int>(queue_.size());
    device_.release_idle();
  }

  DeviceAddress allocate(std::size_t bytes, std::string_view what) override {
    return device_.allocate(bytes, what);
  }
  void release(DeviceAddress address) noexcept override { device_.release(address); }

  void upload(DeviceAddress to, const void* from, std::size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(from);
    const Own own(device_);
    ++device_.counts_.uploads;
    push([this, to, copy = std::vector<std::byte>(begin, begin + bytes)] {
      std::copy(copy.begin(), copy.end(), device_.at(to, copy.size(), FakeDevice::Access::Write));
    });
  }
  void download(void* to, DeviceAddress from, std::size_t bytes) override {
    const Own own(device_);
    ++device_.counts_.downloads;
    push([this, to, from, bytes] {
      const std::byte* source = device_.at(from, bytes, FakeDevice::Access::Any);
      std::copy_n(source, bytes, static_cast<std::byte*>(to));
    });
  }
  void clear(DeviceAddress at, std::size_t bytes) override {
    const Own own(device_);
    push([this, at, bytes] {
      std::fill_n(device_.at(at, bytes, FakeDevice::Access::Write), bytes, std::byte{0});
    });
  }
  void launch(const rkernel::DeviceLaunch& launch) override {
    const Own own(device_);
    queue(launch);
  }
  bool replay(rkernel::LaunchGraph& graph,
              std::span<const rkernel::DeviceLaunch> launches) override {
    const Own own(device_);
    // A launch that is to fail names its group.
    if (fails(device_.fail_replay) || device_.fail_launch > 0) return false;
    ++device_.counts_.replays;
    const auto& functions = static_cast<FakeGraph&>(graph).functions;
    if (functions.size() != launches.size()) violation("a graph of other launches");
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (functions[i] != launches[i].function) violation("a graph of other functions");
      queue(launches[i]);
    }
    return true;
  }
  void synchronise() override {
    const Own own(device_);
    ++device_.counts_.waits;
    run_first(queue_.size(), device_.fail_wait);
  }
  void mark(std::unique_ptr<rkernel::StreamMark>& mark) override {
    const Own own(device_);
    if (mark == nullptr) mark = std::make_unique<FakeMark>(device_);
    auto& place = static_cast<FakeMark&>(*mark);
    place.stream = this;
    place.place = taken_ + static_cast<std::int64_t>(queue_.size());
  }
  /// With the device held.
  void run_until(std::int64_t place) {
    run_first(static_cast<std::size_t>(std::max<std::int64_t>(0, place - taken_)),
              device_.fail_mark);
  }

 private:
  /// One call: holds the device, and counts what the call allocates.
  struct Own {
    explicit Own(FakeDevice& device)
        : device(device), lock(device.mutex_), before(allocations_of_this_thread()) {}
    ~Own() { device.own_allocations_ += allocations_of_this_thread() - before; }
    FakeDevice& device;
    std::lock_guard<std::recursive_mutex> lock;
    std::int64_t before;
  };

  void queue(const rkernel::DeviceLaunch& launch) {
    ++device_.counts_.launches;
    if (fails(device_.fail_launch))
      throw Error(ErrorKind::device, fmt::format("'{}' was refused", launch.name));
    if (launch.function == nullptr || launch.blocks <= 0) violation("a launch of nothing");
    push([this, launch, operands = std::vector(launch.operands.begin(), launch.operands.end())] {
      rkernel::DeviceLaunch kept = launch;
      kept.operands = operands;
      run(kept);
    });
  }

  void run_first(std::size_t count, int& countdown) {
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<std::function<void()>> commands(queue_.begin(), end);
    queue_.erase(queue_.begin(), end);
    taken_ += static_cast<std::int64_t>(count);
    device_.queued_commands_ -= static_cast<int>(count);
    if (fails(countdown)) throw Error(ErrorKind::device, "the fake device was asked to fail");
    for (const auto& command : commands) command();
    device_.release_idle();
  }

  void push(std::function<void()> command) {
    queue_.push_back(std::move(command));
    ++device_.queued_commands_;
  }

  void run(const rkernel::DeviceLaunch& launch) {
    std::vector<void*> memory;
    const auto* pointers = reinterpret_cast<const DeviceAddress*>(device_.at(
        launch.pointers, launch.operands.size() * sizeof(DeviceAddress), FakeDevice::Access::Read));
    for (std::size_t i = 0; i < launch.operands.size(); ++i) {
      const rkernel::OperandRange& range = launch.operands[i];
      if (pointers[i] != range.begin)
        violation(fmt::format("operand {} of '{}' is another one in the table", i, launch.name));
      if (range.begin % rkernel::port_alignment != 0)
        violation(fmt::format("operand {} of '{}' is not aligned", i, launch.name));
      memory.push_back(
          device_.at(range.begin, range.bytes,
                     range.written ? FakeDevice::Access::Write : FakeDevice::Access::Read));
    }
    const auto* ints = reinterpret_cast<const std::int64_t*>(
        device_.at(launch.ints, sizeof(std::int64_t), FakeDevice::Access::Read));
    auto* status = reinterpret_cast<std::int32_t*>(
        device_.at(launch.status, sizeof(std::int32_t), FakeDevice::Access::Read));
    const std::int32_t result =
        static_cast<const FakeFunction*>(launch.function)->run(ints, memory);
    if (*status == 0) *status = result;
  }

  FakeDevice& device_;
  std::vector<std::function<void()>> queue_;
  std::int64_t taken_ = 0;  ///< commands that are no longer in the queue
};

void FakeMark::wait() {
  const std::lock_guard lock(device_.mutex_);
  ++device_.counts_.mark_waits;
  stream->run_until(place);
}

DeviceAddress FakeDevice::allocate(std::size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  const std::int64_t before = allocations_of_this_thread();
  ++counts_.allocations;
  if (fails(fail_allocation) || live_bytes() + bytes > memory_bytes) {
    throw Error(ErrorKind::device,
                fmt::format("no device memory for {}: {} bytes wanted", what, bytes));
  }
  const DeviceAddress address = next_;
  constexpr DeviceAddress gap = 4096;
  next_ += (bytes + 2 * gap) / gap * gap;
  const bool of_run = what.ends_with("of a run");
  if (of_run) most_bytes_of_runs_ = std::max(most_bytes_of_runs_, bytes_of_runs_ += bytes);
  blocks_[address] = {of_run, std::vector<std::byte>(bytes, std::byte{0xcd}),
                      std::vector<bool>(bytes)};
  own_allocations_ += allocations_of_this_thread() - before;
  return address;
}

void FakeDevice::release(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  released_.push_back(address);
  const Block& block = blocks_.at(address);
  if (block.of_run) bytes_of_runs_ -= block.bytes.size();
  release_idle();
}

void FakeDevice::release_idle() {
  if (queued_commands_ > 0) return;
  for (const DeviceAddress address : released_) blocks_.erase(address);
  released_.clear();
}

std::size_t FakeDevice::bytes_from(DeviceAddress address) const {
  const std::lock_guard lock(mutex_);
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return 0;
  const auto& [begin, block] = *std::prev(next);
  return address < begin + block.bytes.size() ? begin + block.bytes.size() - address : 0;
}

std::unique_ptr<rkernel::LaunchGraph> FakeDevice::make_graph(
    std::span<const rkernel::DeviceLaunch> launches) {
  const std::lock_guard lock(mutex_);
  if (fails(fail_graph)) return nullptr;
  const std::int64_t before = allocations_of_this_thread();
  auto graph = std::make_unique<FakeGraph>(launches);
  ++counts_.graphs;
  own_allocations_ += allocations_of_this_thread() - before;
  return graph;
}

std::unique_ptr<rkernel::Stream> FakeDevice::make_stream() {
  const std::lock_guard lock(mutex_);
  ++live_streams_;
  return std::make_unique<FakeStream>(*this);
}

std::byte* FakeDevice::at(DeviceAddress address, std::size_t bytes, Access access) {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) violation(fmt::format("{:#x} was never allocated", address));
  auto& [begin, block] = *--found;
  const std::size_t offset = address - begin;
  if (offset + bytes > block.bytes.size())
    violation(fmt::format("{} bytes at {:#x} leave an allocation of {}", bytes, address,
                          block.bytes.size()));
  const auto first = block.known.begin() + static_cast<std::ptrdiff_t>(offset),
             last = first + static_cast<std::ptrdiff_t>(bytes);
  if (access == Access::Write) std::fill(first, last, true);
  if (access == Access::Read && std::find(first, last, false) != last)
    violation(fmt::format("{} bytes at {:#x} are read before they are written", bytes, address));
  return block.bytes.data() + offset;
}

FakeCounts FakeDevice::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}
std::size_t FakeDevice::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}
std::size_t FakeDevice::live_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [address, block] : blocks_) sum += block.bytes.size();
  return sum;
}
std::size_t FakeDevice::most_bytes_of_runs() const {
  const std::lock_guard lock(mutex_);
  return most_bytes_of_runs_;
}
void FakeDevice::fail_next_allocation() {
  const std::lock_guard lock(mutex_);
  fail_allocation = 1;
}
int FakeDevice::live_streams() const {
  const std::lock_guard lock(mutex_);
  return live_streams_;
}
int FakeDevice::queued_commands() const {
  const std::lock_guard lock(mutex_);
  return queued_commands_;
}
int FakeDevice::dropped_commands() const {
  const std::lock_guard lock(mutex_);
  return dropped_commands_;
}
std::int64_t FakeDevice::own_allocations() const {
  const std::lock_guard lock(mutex_);
  return own_allocations_;
}

}  // namespace dyn::testing
