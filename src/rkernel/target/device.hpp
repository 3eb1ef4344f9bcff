#pragma once
// A machine whose memory is not the host's: memory, streams, launches. The runtime sees GPUs, and
// their emulator, only through this interface.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dyn::rkernel {

/// An address in a device's memory; 0 is none. Never dereferenced by the host.
using DeviceAddress = std::uint64_t;

/// Kernels read vectors of so many bytes: what a caller gives them begins at a multiple of it.
inline constexpr std::size_t port_alignment = 16;

/// The memory that a kernel works on.
enum class Space : std::uint8_t { Host, Device };

/// The memory of one operand's whole buffer, so that a device that checks accesses can detect those
/// out of bounds.
struct OperandRange {
  DeviceAddress begin = 0;
  std::size_t bytes = 0;
  bool written = false;
};

/// Counters at the start of the memory that the blocks of a launch share (Launch::shared_bytes): 0
/// before a launch and after it.
inline constexpr std::size_t counter_bytes = 16384;
inline constexpr std::int64_t most_counters = counter_bytes / sizeof(std::int32_t);

/// One launch of a kernel `void(pointers, ints, status)`: the fields of KernelArgs, each in device
/// memory.
struct DeviceLaunch {
  const void* function = nullptr;  ///< from the device's loader
  const char* name = "";           ///< of the group, for messages
  std::int64_t blocks = 0;
  int threads = 0;                         ///< of one block
  int shared_bytes = 0;                    ///< of one block
  DeviceAddress pointers = 0;              ///< DeviceAddress[operands.size()]
  DeviceAddress ints = 0;                  ///< std::int64_t[number of slots]
  DeviceAddress status = 0;                ///< one std::int32_t (rkernel::Status)
  std::span<const OperandRange> operands;  ///< in the problem's order, then the memory that its
                                           ///< blocks share, where there is some; read in the call
                                           ///< alone
};

/// One launch, as a device counts what it did.
struct LaunchReport {
  std::string group;
  std::vector<std::pair<std::string, std::string>> figures;  ///< what, and how much
};

/// Launches that a device repeats together, each when the one before it is over.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
};

/// A place in a stream's work. Only the stream's own thread sets it.
class StreamMark {
 public:
  virtual ~StreamMark() = default;
  /// Waits for the work before it. Any thread may, while another one uses the stream. Throws
  /// Error(device) where the device has failed; synchronise() of the stream reports it as well.
  virtual void wait() = 0;
};

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// 256-byte aligned. Throws Error(device) with `what`, the bytes wanted and the bytes free, and
  /// leaves the device usable.
  virtual DeviceAddress allocate(std::size_t bytes, std::string_view what) = 0;
  /// Work that was queued before and uses the memory still has it.
  virtual void release(DeviceAddress address) noexcept = 0;
};

/// An in-order queue of work. One thread at a time may use it. Memory that comes from it is there
/// for its own work from then on, for all others' after synchronise(); to release it waits for
/// nothing.
class Stream : public MemorySource {
 public:
  /// A run is about to queue its work. Throws Error(user) where the stream is another library's,
  /// and was destroyed, or is being captured.
  virtual void begin() {}
  /// `from` may be reused as soon as this returns.
  virtual void upload(DeviceAddress to, const void* from, std::size_t bytes) = 0;
  /// `to` has the bytes after synchronise().
  virtual void download(void* to, DeviceAddress from, std::size_t bytes) = 0;
  /// Sets bytes to 0.
  virtual void clear(DeviceAddress at, std::size_t bytes) = 0;
  /// Throws Error(device), naming the group, where the launch is refused.
  virtual void launch(const DeviceLaunch& launch) = 0;
  /// The launches that the graph was made of, with these numbers: other blocks, addresses and
  /// names. False where the device has no memory for it: nothing was launched, and the graph is of
  /// no use. Throws as launch() does.
  virtual bool replay([[maybe_unused]] LaunchGraph& graph,
                      [[maybe_unused]] std::span<const DeviceLaunch> launches) {
    return false;
  }
  /// Waits for everything; throws Error(device) for failures since the last call. The stream can be
  /// used afterwards unless the device itself is lost.
  virtual void synchronise() = 0;
  /// Sets the mark behind all work so far; makes one where it is nullptr, and leaves that where
  /// nothing is left to wait for. A mark is any stream's of the device. Throws Error(device).
  virtual void mark(std::unique_ptr<StreamMark>& mark) = 0;
};

/// Thread-safe. Every call leaves the calling thread's current device context as it was.
class Device : public MemorySource {
 public:
  /// "NVIDIA H200", "emulated a100".
  virtual std::string name() const = 0;
  /// Bytes of this device's memory that follow an address in its allocation, whoever has made it;
  /// 0: it lies in none.
  virtual std::size_t bytes_from(DeviceAddress address) const = 0;
  /// True where kernels of this device may work on memory of `other`.
  virtual bool shares_memory_with(const Device& other) const { return this == &other; }
  /// Host memory that this device copies to and from by itself, while the host goes on: aligned to
  /// 64 bytes, of unknown contents. Its owners may outlive the device. nullptr: the device has no
  /// such memory, or no more; any other does, but a copy may then be waited for.
  virtual std::shared_ptr<void> host_memory(std::size_t) { return nullptr; }
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// A queue of another library's on this device (a CUstream), which must outlive its use. Throws
  /// Error(unsupported) where there are none, and what Stream::begin() throws.
  virtual std::unique_ptr<Stream> use_stream(void* handle);
  /// For any stream of this device. Nothing where the device has no graphs, or no memory for this
  /// one.
  virtual std::unique_ptr<LaunchGraph> make_graph(std::span<const DeviceLaunch>) { return nullptr; }
  /// Counts what launches do from now on. False: this device does not count.
  virtual bool count_launches() { return false; }
  /// One report for each launch since the last call, in their order.
  virtual std::vector<LaunchReport> take_launch_reports() { return {}; }
};

/// An allocation that is released with its owner.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(MemorySource& source, std::size_t bytes, std::string_view what)
      : source_(&source), address_(source.allocate(bytes, what)), bytes_(bytes) {}
  DeviceBlock(DeviceBlock&& other) noexcept { swap(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    DeviceBlock(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBlock() {
    if (address_ != 0) source_->release(address_);
  }
  DeviceAddress address() const noexcept { return address_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void swap(DeviceBlock& other) noexcept {
    std::swap(source_, other.source_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  MemorySource* source_ = nullptr;
  DeviceAddress address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace dyn::rkernel
