#include "src/runtime/device/device_tensor.hpp"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "dyn/device.hpp"
#include "dyn/graph.hpp"
#include "src/runtime/device/open_device.hpp"
#include "src/runtime/executables/executable.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/system/errors.hpp"
#include "src/runtime/system/memory_block.hpp"

namespace dyn {
namespace runtime {
namespace {

/// Throws Error(user) for a bad shape.
std::size_t bytes_of_tensor(DType dtype, const Shape& shape) {
  return Tensor::of_device(nullptr, nullptr, rkernel::port_alignment, dtype, shape).bytes();
}

}  // namespace

Tensor new_device_tensor(const std::shared_ptr<rkernel::Device>& device, DType dtype, Shape shape) {
  const Tensor sized = Tensor::of_device(device, nullptr, rkernel::port_alignment, dtype, shape);
  struct Memory {
    std::shared_ptr<rkernel::Device> device;
    rkernel::DeviceBlock block;
  };
  auto memory = std::make_shared<Memory>(
      Memory{device, rkernel::DeviceBlock(*device, sized.bytes(), "a tensor")});
  const rkernel::DeviceAddress address = memory->block.address();
  return Tensor::of_device(device, std::move(memory), address, dtype, std::move(shape));
}

Tensor new_host_tensor(rkernel::Device* device, DType dtype, Shape shape) {
  const std::size_t bytes = bytes_of_tensor(dtype, shape);
  std::shared_ptr<void> memory;
  if (device != nullptr && bytes > 0) memory = device->host_memory(bytes);
  if (memory == nullptr) return {dtype, std::move(shape)};
  return Tensor::of_memory(std::move(memory), dtype, std::move(shape));
}

Tensor new_host_tensor(const std::shared_ptr<Allocator>& allocator, DType dtype, Shape shape) {
  if (allocator == nullptr) return {dtype, std::move(shape)};
  std::shared_ptr<void> memory = allocated(allocator, bytes_of_tensor(dtype, shape), "a tensor");
  return Tensor::of_memory(std::move(memory), dtype, std::move(shape));
}

Tensor downloaded(rkernel::Device& device, rkernel::Stream& stream, const Tensor& tensor) {
  Tensor copy = new_host_tensor(&device, tensor.dtype(), tensor.shape());
  if (copy.bytes() > 0)
    stream.download(copy.raw(), reinterpret_cast<rkernel::DeviceAddress>(tensor.raw()),
                    copy.bytes());
  stream.synchronise();
  return copy;
}

template <class Work>
void OpenDevice::with_stream(const Work& work) {
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) stream_ = device_->make_stream();
  work(*stream_);
}

Tensor OpenDevice::upload(const Tensor& tensor) {
  if (tensor.on_device()) user_error("Device::upload takes a tensor on the host");
  Tensor copy = new_device_tensor(device_, tensor.dtype(), tensor.shape());
  with_stream([&](rkernel::Stream& stream) {
    stream.upload(reinterpret_cast<rkernel::DeviceAddress>(copy.raw()), tensor.raw(),
                  tensor.bytes());
    stream.synchronise();
  });
  return copy;
}

Tensor OpenDevice::download(const Tensor& tensor) {
  if (!tensor.on_device() || !device_->shares_memory_with(*tensor.device()))
    user_error(fmt::format("Device::download takes a tensor in the memory of {}", device_->name()));
  Tensor copy;
  with_stream([&](rkernel::Stream& stream) { copy = downloaded(*device_, stream, tensor); });
  return copy;
}

namespace {

std::shared_ptr<rkernel::Device> device_of(const Graph& graph) {
  const Executable& executable = graph.model()->executable();
  std::shared_ptr<rkernel::Device> device = executable.device();
  if (device == nullptr)
    user_error(
        fmt::format("no kernel of the graph runs on a device that is there: it is on {}; "
                    "load it with Options::device \"cuda\" or \"emulator\"",
                    executable.device_name()));
  return device;
}

}  // namespace
}  // namespace runtime

Device::Device(const Graph& graph)
    : device_(std::make_shared<runtime::OpenDevice>(runtime::device_of(graph))) {}

std::string Device::name() const { return device_->device()->name(); }

Tensor Device::allocate(DType dtype, Shape shape) const {
  return runtime::new_device_tensor(device_->device(), dtype, std::move(shape));
}

Tensor Device::view(DType dtype, std::uint64_t address, Shape shape) const {
  Tensor tensor = Tensor::of_device(device_->device(), nullptr, address, dtype, std::move(shape));
  if (address % rkernel::port_alignment != 0)
    runtime::user_error(
        fmt::format("a tensor on {} begins at address {:#x}, which is no multiple "
                    "of {} bytes",
                    name(), address, rkernel::port_alignment));
  const std::size_t there =
      tensor.bytes() == 0
          ? 0
          : device_->device()->bytes_from(static_cast<rkernel::DeviceAddress>(address));
  if (there < tensor.bytes())
    runtime::user_error(
        fmt::format("a view of shape {} needs {} bytes, but at address {:#x} there "
                    "are {} of the memory of {}",
                    to_string(tensor.shape()), tensor.bytes(), address, there, name()));
  return tensor;
}

Stream Device::make_stream() const { return {device_->device(), device_->device()->make_stream()}; }
Stream Device::stream(void* handle) const {
  return {device_->device(), device_->device()->use_stream(handle)};
}

Stream::Stream(std::shared_ptr<rkernel::Device> device, std::unique_ptr<rkernel::Stream> stream)
    : device_(std::move(device)), stream_(std::move(stream)) {}
void Stream::wait() const { stream_->synchronise(); }

Tensor Device::upload(const Tensor& tensor) const { return device_->upload(tensor); }
Tensor Device::download(const Tensor& tensor) const { return device_->download(tensor); }

}  // namespace dyn
