#include "targets/ptx/cuda/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/cuda/context.hpp"
#include "targets/ptx/cuda/graph.hpp"
#include "targets/ptx/cuda/modules.hpp"
#include "targets/ptx/cuda/pinned.hpp"
#include "targets/ptx/cuda/query.hpp"
#include "targets/ptx/cuda/stream.hpp"

namespace dyn::ptx {
namespace {

using cuda::Context;
using cuda::Driver;
using cuda::Result;

class CudaDevice final : public PtxDevice {
 public:
  CudaDevice(std::shared_ptr<const Context> context, const std::string& cache_dir)
      : context_(std::move(context)),
        modules_(context_, cache_dir),
        pinned_(std::make_shared<cuda::PinnedMemory>(context_)) {}
  ~CudaDevice() override { pinned_->close(); }

  std::string name() const override { return context_->machine().product; }
  const choice::GpuMachine& machine() const override { return context_->machine(); }

  rkernel::DeviceAddress allocate(std::size_t bytes, std::string_view what) override {
    const Context::Scope scope(*context_);
    cuda::DevicePointer address = 0;
    // Nothing is allocated for 0 bytes, but an address of 0 means none.
    const Result result = context_->driver().cuMemAlloc(&address, std::max<std::size_t>(bytes, 1));
    context_->check_allocation(result, bytes, what);
    return address;
  }

  void release(rkernel::DeviceAddress address) noexcept override {
    const Context::Scope scope(*context_, std::nothrow);
    if (scope.active()) context_->driver().cuMemFree(address);
  }

  std::size_t bytes_from(rkernel::DeviceAddress address) const override {
    return cuda::bytes_from(*context_, address);
  }

  std::shared_ptr<void> host_memory(std::size_t bytes) override { return pinned_->take(bytes); }

  /// Devices of one GPU differ in where they keep code.
  bool shares_memory_with(const rkernel::Device& other) const override {
    const auto* cuda = dynamic_cast<const CudaDevice*>(&other);
    return cuda != nullptr && cuda->context_ == context_;
  }

  std::unique_ptr<rkernel::Stream> make_stream() override { return cuda::make_stream(context_); }
  std::unique_ptr<rkernel::Stream> use_stream(void* handle) override {
    return cuda::use_stream(context_, static_cast<cuda::StreamHandle>(handle));
  }
  std::unique_ptr<rkernel::LaunchGraph> make_graph(
      std::span<const rkernel::DeviceLaunch> launches) override {
    return cuda::Graph::make(context_, launches);
  }

  std::optional<double> launch_seconds(const rkernel::DeviceLaunch& launch) override {
    return cuda::launch_seconds(context_, launch);
  }
  std::string identity() const override {
    return fmt::format("{}, driver for CUDA {}", name(), context_->driver().version());
  }

  std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                rkernel::CompileReport& report) override {
    return modules_.load(sources, threads, report);
  }

 private:
  std::shared_ptr<const Context> context_;
  cuda::Modules modules_;
  const std::shared_ptr<cuda::PinnedMemory> pinned_;
};

int parse_index(const std::string& gpu, int count) {
  int index = 0;
  const char* end = gpu.data() + gpu.size();
  const auto parsed = std::from_chars(gpu.data(), end, index);
  const bool number = gpu.empty() || (parsed.ec == std::errc() && parsed.ptr == end);
  if (number && index >= 0 && index < count) return index;
  throw Error(ErrorKind::user,
              fmt::format("there is no GPU \"{}\": --device cuda takes {}", gpu,
                          count == 1 ? std::string("index 0 only")
                                     : fmt::format("an index from 0 to {}", count - 1)));
}

int count_of(const Driver& driver) {
  const int count = cuda::device_count(driver);
  if (count == 0)
    throw Error(ErrorKind::device,
                "the NVIDIA driver finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES");
  return count;
}

}  // namespace

std::shared_ptr<PtxDevice> open_cuda_device(const std::string& gpu, const std::string& cache_dir,
                                            std::shared_ptr<const Driver> driver) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int index = parse_index(gpu, count_of(*driver));
  static auto& contexts = *new std::map<std::pair<const Driver*, int>, std::weak_ptr<Context>>;
  std::weak_ptr<Context>& known_context = contexts[{driver.get(), index}];
  std::shared_ptr<Context> context = known_context.lock();
  if (context == nullptr) {
    known_context = context = std::make_shared<Context>(std::move(driver), index);
  } else if (context->lost()) {
    throw Error(ErrorKind::device,
                fmt::format("{} is lost after a failure: destroy every graph on it, and every "
                            "tensor that came from them, before loading one again",
                            context->machine().product));
  }
  static auto& devices =
      *new std::map<std::pair<const Context*, std::string>, std::weak_ptr<PtxDevice>>;
  std::erase_if(devices, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PtxDevice>& known = devices[{context.get(), cache_dir}];
  std::shared_ptr<PtxDevice> device = known.lock();
  if (device == nullptr) {
    device = std::make_shared<CudaDevice>(context, cache_dir);
    known = device;
  }
  return device;
}

std::shared_ptr<PtxDevice> open_cuda_device(const std::string& gpu, const std::string& cache_dir) {
  return open_cuda_device(gpu, cache_dir, cuda::system_driver());
}

std::vector<choice::GpuMachine> cuda_devices(const Driver& driver) {
  std::vector<choice::GpuMachine> machines;
  const int count = count_of(driver);
  for (int index = 0; index < count; ++index)
    machines.push_back(cuda::query_machine(driver, cuda::device_at(driver, index)));
  return machines;
}

std::vector<choice::GpuMachine> cuda_devices(std::string* why_none) {
  try {
    return cuda_devices(*cuda::system_driver());
  } catch (const Error& error) {
    if (why_none != nullptr) *why_none = error.message();
    return {};
  }
}

}  // namespace dyn::ptx
