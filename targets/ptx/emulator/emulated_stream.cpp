#include "targets/ptx/emulator/emulated_stream.hpp"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "targets/ptx/emulator/launcher.hpp"

namespace dyn::ptx::emulation {
namespace {

class EmulatedGraph final : public rkernel::LaunchGraph {
 public:
  explicit EmulatedGraph(std::span<const rkernel::DeviceLaunch> launches)
      : launches_(launches.begin(), launches.end()) {}
  /// The functions are the graph's own, as on a GPU.
  std::span<const rkernel::DeviceLaunch> with(std::span<const rkernel::DeviceLaunch> numbers) {
    if (numbers.size() != launches_.size())
      throw Error(ErrorKind::internal, "a graph is replayed with another number of launches");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const void* function = launches_[i].function;
      launches_[i] = numbers[i];
      launches_[i].function = function;
    }
    return launches_;
  }

 private:
  std::vector<rkernel::DeviceLaunch> launches_;
};

class EmulatedStream final : public rkernel::Stream {
 public:
  EmulatedStream(std::shared_ptr<EmulatedMemory> memory, std::shared_ptr<Launcher> launcher)
      : memory_(std::move(memory)), launcher_(std::move(launcher)) {}

  rkernel::DeviceAddress allocate(std::size_t bytes, std::string_view what) override {
    return memory_->allocate(bytes, what);
  }
  void release(rkernel::DeviceAddress address) noexcept override { memory_->release(address); }
  void upload(rkernel::DeviceAddress to, const void* from, std::size_t bytes) override {
    memory_->check(to, bytes, "an upload");
    if (bytes > 0) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  }
  void download(void* to, rkernel::DeviceAddress from, std::size_t bytes) override {
    memory_->check(from, bytes, "a download");
    if (bytes > 0) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  }
  void clear(rkernel::DeviceAddress at, std::size_t bytes) override {
    memory_->check(at, bytes, "a clear");
    if (bytes > 0) std::memset(reinterpret_cast<void*>(at), 0, bytes);
  }
  /// After a fault nothing is launched until synchronise() has reported it: the data would cause
  /// meaningless faults.
  void launch(const rkernel::DeviceLaunch& launch) override {
    if (!failed_) failed_ = launcher_->launch(launch);
  }
  bool replay(rkernel::LaunchGraph& graph,
              std::span<const rkernel::DeviceLaunch> launches) override {
    for (const rkernel::DeviceLaunch& one : static_cast<EmulatedGraph&>(graph).with(launches))
      launch(one);
    return true;
  }
  void synchronise() override {
    if (const std::optional<FaultReport> failed = std::exchange(failed_, std::nullopt))
      throw Error(ErrorKind::device, to_string(*failed));
  }
  void mark(std::unique_ptr<rkernel::StreamMark>& mark) override { mark.reset(); }

 private:
  std::shared_ptr<EmulatedMemory> memory_;
  std::shared_ptr<Launcher> launcher_;
  std::optional<FaultReport> failed_;
};

}  // namespace

std::unique_ptr<rkernel::Stream> make_stream(std::shared_ptr<EmulatedMemory> memory,
                                             std::shared_ptr<Launcher> launcher) {
  return std::make_unique<EmulatedStream>(std::move(memory), std::move(launcher));
}

std::unique_ptr<rkernel::LaunchGraph> make_graph(std::span<const rkernel::DeviceLaunch> launches) {
  return std::make_unique<EmulatedGraph>(launches);
}

}  // namespace dyn::ptx::emulation
