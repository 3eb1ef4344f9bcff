#pragma once
// Tensors in a device's memory.

#include <memory>

#include "dyn/allocator.hpp"
#include "dyn/tensor.hpp"
#include "src/rkernel/target/device.hpp"

namespace dyn::runtime {

/// New memory of unknown contents, released with the last copy of the tensor. Throws Error(user)
/// for a bad shape, Error(device) for no memory.
Tensor new_device_tensor(const std::shared_ptr<rkernel::Device>& device, DType dtype, Shape shape);

/// A tensor on the host that the device copies to: in its host_memory where it has some.
/// `device`: nullptr: none.
Tensor new_host_tensor(rkernel::Device* device, DType dtype, Shape shape);
/// A tensor of a run that no device has part in, of unknown contents. `allocator`: nullptr: the
/// system.
Tensor new_host_tensor(const std::shared_ptr<Allocator>& allocator, DType dtype, Shape shape);

/// The values of a tensor in the device's memory, on the host: copied behind the work of the
/// stream, and waited for. Throws Error(device).
Tensor downloaded(rkernel::Device& device, rkernel::Stream& stream, const Tensor& tensor);

}  // namespace dyn::runtime
