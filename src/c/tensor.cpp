#include <cstdint>
#include <memory>
#include <utility>

#include "src/c/objects.hpp"

using dyn::Tensor;
using dyn::c::dtype_of;
using dyn::c::given;
using dyn::c::gives;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::shape_of;
using dyn::c::TensorHandle;
using dyn::c::Used;

extern "C" {

size_t dyn_dtype_size(dyn_dtype dtype) noexcept {
  const auto found = dyn::c::find_dtype(dtype);
  return found ? dyn::size_of(*found) : 0;
}

const char* dyn_dtype_name(dyn_dtype dtype) noexcept {
  const auto found = dyn::c::find_dtype(dtype);
  return found ? dyn::name_of(*found).data() : nullptr;
}

dyn_dtype dyn_dtype_parse(const char* name) noexcept {
  if (name == nullptr) return -1;
  const auto dtype = dyn::parse_dtype(name);
  return dtype ? dyn::c::c_dtype(*dtype) : -1;
}

dyn_status* dyn_tensor_create(dyn_dtype dtype, size_t rank, const int64_t* sizes,
                              dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(tensor, "tensor",
                             [&] { return Tensor(dtype_of(dtype), shape_of(rank, sizes)); });
}

dyn_status* dyn_tensor_view(dyn_dtype dtype, void* data, size_t rank, const int64_t* sizes,
                            dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(
      tensor, "tensor", [&] { return Tensor::view(dtype_of(dtype), data, shape_of(rank, sizes)); });
}

dyn_status* dyn_tensor_view_const(dyn_dtype dtype, const void* data, size_t rank,
                                  const int64_t* sizes, dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(
      tensor, "tensor", [&] { return Tensor::view(dtype_of(dtype), data, shape_of(rank, sizes)); });
}

dyn_status* dyn_tensor_adopt(dyn_dtype dtype, void* data, size_t rank, const int64_t* sizes,
                             dyn_release_function release, void* context,
                             dyn_tensor** tensor) noexcept {
  // The memory is the caller's until nothing can fail any more.
  std::shared_ptr<bool> is_ours;
  dyn_status* const status = makes<TensorHandle>(tensor, "tensor", [&] {
    if (release == nullptr)
      throw dyn::Error(dyn::ErrorKind::user, "the argument 'release' is NULL");
    is_ours = std::make_shared<bool>(false);
    std::shared_ptr<void> memory(data, [release, context, is_ours](void* pointer) {
      if (*is_ours) release(context, pointer);
    });
    return Tensor::of_memory(std::move(memory), dtype_of(dtype), shape_of(rank, sizes));
  });
  if (status == nullptr) *is_ours = true;
  return status;
}

dyn_status* dyn_tensor_reshape(const dyn_tensor* tensor, size_t rank, const int64_t* sizes,
                               dyn_tensor** reshaped) noexcept {
  return makes<TensorHandle>(reshaped, "reshaped", [&] {
    return Used<TensorHandle>(tensor)->reshaped(shape_of(rank, sizes));
  });
}

dyn_status* dyn_tensor_shape(const dyn_tensor* tensor, size_t* rank,
                             const int64_t** sizes) noexcept {
  return guarded([&] {
    size_t& count = given(rank, "rank");
    const int64_t* unused = nullptr;
    const int64_t*& place = given(sizes == nullptr ? &unused : sizes, "sizes");
    const Used<TensorHandle> used(tensor);
    count = used->shape().size();
    place = used->shape().data();
  });
}

dyn_status* dyn_tensor_dtype(const dyn_tensor* tensor, dyn_dtype* dtype) noexcept {
  return gives(dtype, "dtype",
               [&] { return dyn::c::c_dtype(Used<TensorHandle>(tensor)->dtype()); });
}

dyn_status* dyn_tensor_bytes(const dyn_tensor* tensor, size_t* bytes) noexcept {
  return gives(bytes, "bytes", [&] { return Used<TensorHandle>(tensor)->bytes(); });
}

dyn_status* dyn_tensor_data(const dyn_tensor* tensor, dyn_dtype dtype, const void** data) noexcept {
  return gives(data, "data", [&] {
    const Used<TensorHandle> used(tensor);
    return std::as_const(*used).elements(dtype_of(dtype));
  });
}

dyn_status* dyn_tensor_mutable_data(dyn_tensor* tensor, dyn_dtype dtype, void** data) noexcept {
  return gives(data, "data",
               [&] { return Used<TensorHandle>(tensor)->mutable_elements(dtype_of(dtype)); });
}

dyn_status* dyn_tensor_address(const dyn_tensor* tensor, uint64_t* address,
                               bool* on_device) noexcept {
  return guarded([&] {
    uint64_t& place = given(address, "address");
    bool& is_there = given(on_device, "on_device");
    const Used<TensorHandle> used(tensor);
    place = reinterpret_cast<uint64_t>(std::as_const(*used).raw());
    is_there = used->on_device();
  });
}

void dyn_tensor_release(dyn_tensor* tensor) noexcept {
  dyn::c::release_handle(TensorHandle::kind, tensor);
}

}  // extern "C"
