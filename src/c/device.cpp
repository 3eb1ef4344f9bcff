// Devices and streams.

#include <cstdint>

#include "src/c/objects.hpp"

using dyn::c::DeviceHandle;
using dyn::c::dtype_of;
using dyn::c::gives;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::shape_of;
using dyn::c::StreamHandle;
using dyn::c::TensorHandle;
using dyn::c::Used;

extern "C" {

dyn_status* dyn_device_of(const dyn_graph* graph, dyn_device** device) noexcept {
  return makes<DeviceHandle>(device, "device",
                             [&] { return dyn::Device(*Used<dyn::c::GraphHandle>(graph)); });
}

dyn_status* dyn_device_name(const dyn_device* device, const char** name) noexcept {
  return gives(name, "name", [&] { return Used<DeviceHandle>(device)->name.c_str(); });
}

dyn_status* dyn_device_allocate(const dyn_device* device, dyn_dtype dtype, size_t rank,
                                const int64_t* sizes, dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(tensor, "tensor", [&] {
    return Used<DeviceHandle>(device)->device.allocate(dtype_of(dtype), shape_of(rank, sizes));
  });
}

dyn_status* dyn_device_view(const dyn_device* device, dyn_dtype dtype, uint64_t address,
                            size_t rank, const int64_t* sizes, dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(tensor, "tensor", [&] {
    return Used<DeviceHandle>(device)->device.view(dtype_of(dtype), address, shape_of(rank, sizes));
  });
}

dyn_status* dyn_device_upload(const dyn_device* device, const dyn_tensor* tensor,
                              dyn_tensor** copy) noexcept {
  return makes<TensorHandle>(copy, "copy", [&] {
    return Used<DeviceHandle>(device)->device.upload(*Used<TensorHandle>(tensor));
  });
}

dyn_status* dyn_device_download(const dyn_device* device, const dyn_tensor* tensor,
                                dyn_tensor** copy) noexcept {
  return makes<TensorHandle>(copy, "copy", [&] {
    return Used<DeviceHandle>(device)->device.download(*Used<TensorHandle>(tensor));
  });
}

void dyn_device_release(dyn_device* device) noexcept {
  dyn::c::release_handle(DeviceHandle::kind, device);
}

dyn_status* dyn_stream_create(const dyn_device* device, dyn_stream** stream) noexcept {
  return makes<StreamHandle>(stream, "stream",
                             [&] { return Used<DeviceHandle>(device)->device.make_stream(); });
}

dyn_status* dyn_stream_of(const dyn_device* device, void* foreign, dyn_stream** stream) noexcept {
  return makes<StreamHandle>(stream, "stream",
                             [&] { return Used<DeviceHandle>(device)->device.stream(foreign); });
}

dyn_status* dyn_stream_wait(const dyn_stream* stream) noexcept {
  return guarded([&] { Used<StreamHandle>(stream)->wait(); });
}

void dyn_stream_release(dyn_stream* stream) noexcept {
  dyn::c::release_handle(StreamHandle::kind, stream);
}

}  // extern "C"
