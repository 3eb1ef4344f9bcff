#include "targets/ptx/cuda/stream.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/cuda/staging.hpp"

namespace dyn::ptx::cuda {
namespace {

using rkernel::DeviceAddress;
using rkernel::DeviceLaunch;

static_assert(sizeof(DeviceAddress) == sizeof(DevicePointer));

/// To be used with the context current.
struct Event {
  explicit Event(const Context& owner) : context(owner) {
    context.check(context.driver().cuEventCreate(&handle, 0), "making an event");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { context.driver().cuEventDestroy(handle); }
  const Context& context;
  EventHandle handle = nullptr;
};

class CudaStream final : public rkernel::Stream {
 public:
  explicit CudaStream(std::shared_ptr<const Context> context)
      : context_(std::move(context)), staging_(*context_) {
    const Context::Scope scope(*context_);
    context_->check(context_->driver().cuStreamCreate(&stream_, stream_non_blocking),
                    "making a stream");
  }

  // Work in flight may still use the staging memory, and memory that the owner releases next.
  ~CudaStream() override {
    const Context::Scope scope(*context_, std::nothrow);
    if (!scope.active()) return;
    context_->driver().cuStreamSynchronize(stream_);
    context_->driver().cuStreamDestroy(stream_);
  }

  void upload(DeviceAddress to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Context::Scope scope(*context_);
    staging_.upload(to, from, bytes, stream_);
  }

  void download(void* to, DeviceAddress from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Context::Scope scope(*context_);
    check(context_->driver().cuMemcpyDtoHAsync(to, from, bytes, stream_),
          "copying from the device");
  }

  void clear(DeviceAddress at, std::size_t bytes) override {
    if (bytes == 0) return;
    const Context::Scope scope(*context_);
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
    ++launches_;
    last_launch_ = launch.name;
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
  }

 private:
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

}  // namespace dyn::ptx::cuda
