#include "targets/ptx/cuda/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/cuda/graph.hpp"
#include "targets/ptx/cuda/staging.hpp"

namespace dyn::ptx::cuda {
namespace {

using rkernel::DeviceAddress;
using rkernel::DeviceLaunch;

static_assert(sizeof(DeviceAddress) == sizeof(DevicePointer));

/// To be used with the context current.
struct Event {
  explicit Event(const Context& owner, unsigned flags = 0) : context(owner) {
    context.check(context.driver().cuEventCreate(&handle, flags), "making an event");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { context.driver().cuEventDestroy(handle); }
  const Context& context;
  EventHandle handle = nullptr;
};

class Mark final : public rkernel::StreamMark {
 public:
  explicit Mark(std::shared_ptr<const Context> context) : context_(std::move(context)) {
    const Context::Scope scope(*context_);
    event_.emplace(*context_, event_disable_timing);
  }
  ~Mark() override {
    const Context::Scope scope(*context_, std::nothrow);
    event_.reset();
  }
  EventHandle event() const { return event_->handle; }
  void wait() override {
    const Context::Scope scope(*context_);
    context_->check(context_->driver().cuEventSynchronize(event_->handle),
                    "waiting for the work of a run");
  }

 private:
  std::shared_ptr<const Context> context_;
  std::optional<Event> event_;
};

class CudaStream final : public rkernel::Stream {
 public:
  explicit CudaStream(std::shared_ptr<const Context> context)
      : context_(std::move(context)), staging_(*context_) {
    const Context::Scope scope(*context_);
    context_->check(context_->driver().cuStreamCreate(&stream_, stream_non_blocking),
                    "making a stream");
  }
  CudaStream(std::shared_ptr<const Context> context, StreamHandle callers)
      : context_(std::move(context)), staging_(*context_), stream_(callers), is_own_(false) {
    begin();
  }

  // Work in flight may still use the staging memory, and memory that the owner releases next.
  ~CudaStream() override {
    const Context::Scope scope(*context_, std::nothrow);
    if (!scope.active()) return;
    // Its owner may have destroyed a stream on which nothing was left to do.
    if (has_work_ || is_own_) context_->driver().cuStreamSynchronize(stream_);
    if (is_own_) context_->driver().cuStreamDestroy(stream_);
  }

  void begin() override {
    if (is_own_) return;
    const Context::Scope scope(*context_);
    const Driver& driver = context_->driver();
    ContextHandle context = nullptr;
    Result result = driver.cuStreamGetCtx(stream_, &context);
    if (result != Result::Success)
      refuse_stream(fmt::format("it was destroyed, or is none: {}", driver.text(result)));
    if (context != context_->handle())
      refuse_stream("it belongs to another GPU, or not to the GPU's primary context");
    CaptureStatus capture = CaptureStatus::None;
    result = driver.cuStreamIsCapturing(stream_, &capture);
    if (result != Result::Success || capture != CaptureStatus::None)
      refuse_stream(
          "it is being captured, and a replay would not renew what a run uploads; end the capture "
          "first");
  }

  DeviceAddress allocate(std::size_t bytes, std::string_view what) override {
    const Context::Scope scope(*context_);
    const Driver& driver = context_->driver();
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    DevicePointer address = 0;
    context_->check_allocation(context_->has_memory_pools()
                                   ? driver.cuMemAllocAsync(&address, size, stream_)
                                   : driver.cuMemAlloc(&address, size),
                               bytes, what);
    has_work_ = true;
    return address;
  }
  void release(DeviceAddress address) noexcept override {
    const Context::Scope scope(*context_, std::nothrow);
    if (!scope.active()) return;
    if (context_->has_memory_pools())
      context_->driver().cuMemFreeAsync(address, stream_);
    else
      context_->driver().cuMemFree(address);
    has_work_ = true;
  }

  void upload(DeviceAddress to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Context::Scope scope(*context_);
    has_work_ = true;
    staging_.upload(to, from, bytes, stream_);
  }

  void download(void* to, DeviceAddress from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Context::Scope scope(*context_);
    has_work_ = true;
    check(context_->driver().cuMemcpyDtoHAsync(to, from, bytes, stream_),
          "copying from the device");
  }

  void clear(DeviceAddress at, std::size_t bytes) override {
    if (bytes == 0) return;
    const Context::Scope scope(*context_);
    has_work_ = true;
    check(context_->driver().cuMemsetD8Async(at, 0, bytes, stream_), "clearing device memory");
  }

  void launch(const DeviceLaunch& launch) override {
    if (launch.blocks == 0) return;
    if (launch.function == nullptr)
      throw Error(ErrorKind::internal,
                  fmt::format("launching {}: it has no code on the device", launch.name));
    if (launch.blocks > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorKind::device,
                  fmt::format("launching {}: {} blocks are more than a grid can have", launch.name,
                              launch.blocks));
    }
    const Context::Scope scope(*context_);
    const auto* kernel = static_cast<const LoadedKernel*>(launch.function);
    DevicePointer pointers = launch.pointers, ints = launch.ints, status = launch.status;
    void* parameters[] = {&pointers, &ints, &status};
    const Result result = context_->driver().cuLaunchKernel(
        kernel->function, static_cast<unsigned>(launch.blocks), 1, 1,
        static_cast<unsigned>(launch.threads), 1, 1, static_cast<unsigned>(launch.shared_bytes),
        stream_, parameters, nullptr);
    if (result != Result::Success) refuse(result, launch);
    note_launches(1, launch.name);
  }

  bool replay(rkernel::LaunchGraph& graph, std::span<const DeviceLaunch> launches) override {
    const Context::Scope scope(*context_);
    const Result result = static_cast<Graph&>(graph).launch(launches, stream_);
    if (is_fatal(result)) check(result, "launching a graph");
    if (result != Result::Success) return false;
    note_launches(static_cast<std::int64_t>(launches.size()), launches.back().name);
    return true;
  }

  double seconds(const DeviceLaunch& launch) {
    const Context::Scope scope(*context_);
    const Event start(*context_), end(*context_);
    check(context_->driver().cuEventRecord(start.handle, stream_), "recording an event");
    this->launch(launch);
    check(context_->driver().cuEventRecord(end.handle, stream_), "recording an event");
    check(context_->driver().cuEventSynchronize(end.handle), "waiting for an event");
    float milliseconds = 0;
    check(context_->driver().cuEventElapsedTime(&milliseconds, start.handle, end.handle),
          "reading the time");
    return milliseconds * 1e-3;
  }

  void synchronise() override {
    const Context::Scope scope(*context_);
    const Result result = context_->driver().cuStreamSynchronize(stream_);
    check(result, "waiting for the device");
    launches_ = 0;
    has_work_ = false;
  }

  void mark(std::unique_ptr<rkernel::StreamMark>& mark) override {
    if (mark == nullptr) mark = std::make_unique<Mark>(context_);
    const Context::Scope scope(*context_);
    check(context_->driver().cuEventRecord(static_cast<const Mark&>(*mark).event(), stream_),
          "recording an event");
  }

 private:
  [[noreturn]] void refuse_stream(const std::string& why) const {
    throw Error(ErrorKind::user,
                fmt::format("{}: the caller's stream cannot be used: {}", context_->label(), why));
  }

  void note_launches(std::int64_t count, const char* last) {
    launches_ += count;
    last_launch_ = last;
    has_work_ = true;
  }

  // Any call may report the failure of an earlier kernel; such a result is always fatal.
  void check(Result result, const char* doing) {
    if (result == Result::Success) return;
    if (!is_fatal(result) || launches_ == 0) context_->fail(result, doing);
    const std::string suspects =
        launches_ == 1
            ? fmt::format("the kernel of {}", last_launch_)
            : fmt::format("one of the last {} kernels, up to that of {},", launches_, last_launch_);
    launches_ = 0;
    context_->fail(result, fmt::format("{}: {} failed (CUDA_LAUNCH_BLOCKING=1 in the environment "
                                       "tells which; --device emulator tells why)",
                                       doing, suspects));
  }

  [[noreturn]] void refuse(Result result, const DeviceLaunch& launch) {
    const std::string doing =
        fmt::format("launching {} ({} blocks of {} threads, {} bytes of shared memory)",
                    launch.name, launch.blocks, launch.threads, launch.shared_bytes);
    if (is_fatal(result)) check(result, doing.c_str());
    context_->fail(result, doing);
  }

  std::shared_ptr<const Context> context_;
  Staging staging_;
  StreamHandle stream_ = nullptr;
  bool is_own_ = true;
  bool has_work_ = false;      ///< since the last synchronise()
  std::int64_t launches_ = 0;  ///< since the last synchronise()
  std::string last_launch_;
};

}  // namespace

std::unique_ptr<rkernel::Stream> make_stream(std::shared_ptr<const Context> context) {
  return std::make_unique<CudaStream>(std::move(context));
}

double launch_seconds(std::shared_ptr<const Context> context, const DeviceLaunch& launch) {
  return CudaStream(std::move(context)).seconds(launch);
}

std::unique_ptr<rkernel::Stream> use_stream(std::shared_ptr<const Context> context,
                                            StreamHandle handle) {
  return std::make_unique<CudaStream>(std::move(context), handle);
}

}  // namespace dyn::ptx::cuda
