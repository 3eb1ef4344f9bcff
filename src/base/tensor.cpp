#include "dyn/tensor.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <sstream>
#include <utility>

#include "dyn/error.hpp"
#include "src/base/huge_pages.hpp"

namespace dyn {
namespace {

constexpr std::align_val_t tensor_alignment{64};

/// A tensor of this size or more takes its memory from the system and gives it back. In the heap,
/// large tensors of ever other sizes would leave holes between small objects that stay (plans), and
/// resident memory would grow with the number of shapes.
constexpr std::size_t least_mapped_bytes = 256 << 10;

[[noreturn]] void fail_without_memory(std::size_t bytes) {
  throw Error(ErrorKind::device, "no memory for a tensor of " + std::to_string(bytes) + " bytes");
}

std::shared_ptr<void> mapped_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_without_memory(bytes);
  ask_for_huge_pages(memory, bytes);
  return {memory, [bytes](void* pointer) { munmap(pointer, bytes); }};
}

std::shared_ptr<void> zeroed_memory(std::size_t bytes) {
  if (bytes >= least_mapped_bytes) return mapped_memory(bytes);
  void* memory = ::operator new(bytes, tensor_alignment, std::nothrow);
  if (memory == nullptr) fail_without_memory(bytes);
  std::memset(memory, 0, bytes);
  return {memory, [](void* pointer) { ::operator delete(pointer, tensor_alignment); }};
}

/// The count, provided that the bytes of all its elements can be addressed.
std::int64_t checked_count(DType dtype, const Shape& shape) {
  const std::int64_t count = element_count(shape);
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  if (count > std::numeric_limits<std::int64_t>::max() / element_bytes) {
    throw Error(ErrorKind::user,
                "a tensor of shape " + to_string(shape) + " has more bytes than can be addressed");
  }
  return count;
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool overflow = false;
  bool zero = false;
  for (const std::int64_t size : shape) {
    if (size < 0) {
      throw Error(
          ErrorKind::user,
          "a size in shape " + to_string(Shape(shape.begin(), shape.end())) + " is negative");
    }
    zero = zero || size == 0;
    overflow = __builtin_mul_overflow(count, size, &count) || overflow;
  }
  if (zero) return 0;
  if (overflow) {
    throw Error(ErrorKind::user, "the number of elements of shape " +
                                     to_string(Shape(shape.begin(), shape.end())) +
                                     " does not fit 63 bits");
  }
  return count;
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), count_(checked_count(dtype, shape)), shape_(std::move(shape)) {
  owner_ = zeroed_memory(bytes());
  data_ = owner_.get();
}

Tensor Tensor::view(DType dtype, void* data, Shape shape) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.count_ = checked_count(dtype, shape);
  if (data == nullptr && tensor.count_ > 0) {
    throw Error(ErrorKind::user, "a view of shape " + to_string(shape) + " of a null pointer");
  }
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
    std::ostringstream address;
    address << data;
    throw Error(ErrorKind::user, "a view of " + std::string(name_of(dtype)) + " at " +
                                     address.str() + ", which is no multiple of their " +
                                     std::to_string(size_of(dtype)) + " bytes; copy them first");
  }
  tensor.shape_ = std::move(shape);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::view(DType dtype, const void* data, Shape shape) {
  Tensor tensor = view(dtype, const_cast<void*>(data), std::move(shape));
  tensor.writable_ = false;
  return tensor;
}

Tensor Tensor::of_memory(std::shared_ptr<void> memory, DType dtype, Shape shape) {
  Tensor tensor = view(dtype, memory.get(), std::move(shape));
  tensor.owner_ = std::move(memory);
  return tensor;
}

Tensor Tensor::of_device(std::shared_ptr<rkernel::Device> device, std::shared_ptr<void> memory,
                         std::uint64_t address, DType dtype, Shape shape) {
  Tensor tensor = view(dtype, reinterpret_cast<void*>(address), std::move(shape));
  tensor.device_ = std::move(device);
  tensor.owner_ = std::move(memory);
  return tensor;
}

Tensor Tensor::reshaped(Shape shape) const {
  check_size(static_cast<std::size_t>(count_), shape);
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

void Tensor::check_size(std::size_t values, const Shape& shape) {
  if (static_cast<std::uint64_t>(element_count(shape)) != values) {
    throw Error(ErrorKind::user, "shape " + to_string(shape) + " does not have " +
                                     std::to_string(values) + " elements");
  }
}

const void* Tensor::elements(DType dtype) const {
  if (on_device()) {
    throw Error(ErrorKind::user,
                "the elements of a tensor in a device's memory were asked for; copy it to the host "
                "with Device::download first");
  }
  if (dtype == dtype_) return data_;
  throw Error(ErrorKind::user, "a tensor of " + std::string(name_of(dtype_)) + " was read as " +
                                   std::string(name_of(dtype)));
}

void* Tensor::mutable_elements(DType dtype) {
  const void* const data = elements(dtype);
  if (!writable_) throw Error(ErrorKind::user, "a read-only view was asked for mutable data");
  return const_cast<void*>(data);
}

}  // namespace dyn
