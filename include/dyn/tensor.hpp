#pragma once
// Tensors that cross the API: owning, or views of memory that the caller owns, on the host or on a
// device.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dyn/dtype.hpp"
#include "dyn/export.hpp"

namespace dyn {

namespace rkernel {
class Device;
}

using Shape = std::vector<std::int64_t>;

/// "[2, 3, 4]"
DYN_API std::string to_string(const Shape& shape);

/// Number of elements; throws Error(user) where a size is negative or the product overflows 63
/// bits.
DYN_API std::int64_t element_count(std::span<const std::int64_t> shape);

/// A dense row-major tensor, in the host's memory or in a device's (dyn/device.hpp). Copies share
/// the same memory; one that was moved from is empty. A Tensor is not synchronised: threads may
/// read one at the same time, but not write it.
class DYN_API Tensor {
 public:
  /// Empty: no port of a model takes it.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~Tensor() = default;

  /// Owns new memory, aligned to 64 bytes, zeroed. Throws Error(user) for a bad shape,
  /// Error(device) for no memory.
  Tensor(DType dtype, Shape shape);

  /// A view of `data`, which must stay valid as long as the view is used. Throws Error(user) where
  /// it is null, or no multiple of an element's size.
  static Tensor view(DType dtype, void* data, Shape shape);
  static Tensor view(DType dtype, const void* data, Shape shape);

  template <class T>
  static Tensor view(T* data, Shape shape) {
    return view(DTypeOf<std::remove_const_t<T>>::value, data, std::move(shape));
  }
  template <class Container>
  static Tensor view(Container& values, Shape shape)
    requires requires {
      values.data();
      values.size();
    }
  {
    check_size(values.size(), shape);
    return view(values.data(), std::move(shape));
  }

  /// Owns a copy of `values`; throws Error(user) where their number is not the shape's.
  template <class T>
  static Tensor from(std::initializer_list<T> values, Shape shape) {
    return from(std::span<const T>(values.begin(), values.size()), std::move(shape));
  }
  template <class T>
  static Tensor from(std::span<const T> values, Shape shape) {
    check_size(values.size(), shape);
    Tensor tensor(DTypeOf<T>::value, std::move(shape));
    std::copy(values.begin(), values.end(), static_cast<T*>(tensor.raw()));
    return tensor;
  }

  /// The same memory in another shape. Throws Error(user) where that has another number of
  /// elements.
  Tensor reshaped(Shape shape) const;

  /// True for a Tensor() and for one that was moved from; a tensor of no elements has a shape.
  bool empty() const noexcept { return shape_.empty() && !data_; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(count_) * size_of(dtype_); }
  bool writable() const noexcept { return writable_; }

  /// True where the memory is a device's: the host cannot read it, and raw() is the address there.
  bool on_device() const noexcept { return device_ != nullptr; }

  const void* raw() const noexcept { return data_; }
  void* raw() noexcept { return data_; }

  /// The elements; throws Error(user) where T is not the dtype, where the memory is a device's, or,
  /// for a mutable span, where the view is read-only.
  template <class T>
  std::span<const T> data() const {
    return {static_cast<const T*>(elements(DTypeOf<T>::value)), static_cast<std::size_t>(count_)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {static_cast<T*>(mutable_elements(DTypeOf<T>::value)), static_cast<std::size_t>(count_)};
  }
  /// The same for a dtype that the program knows when it runs.
  const void* elements(DType dtype) const;
  void* mutable_elements(DType dtype);

  /// Inside dyn; not part of the stable API. The host's `memory`, which it owns with others.
  DYN_INTERNAL static Tensor of_memory(std::shared_ptr<void> memory, DType dtype, Shape shape);
  /// For dyn::Device and inside dyn; not part of the stable API. Memory of `device` at `address`,
  /// which `memory` owns (nullptr: the caller does).
  DYN_INTERNAL static Tensor of_device(std::shared_ptr<rkernel::Device> device,
                                       std::shared_ptr<void> memory, std::uint64_t address,
                                       DType dtype, Shape shape);
  /// nullptr: the memory is the host's.
  const std::shared_ptr<rkernel::Device>& device() const noexcept { return device_; }

 private:
  void swap(Tensor& other) noexcept {
    std::swap(dtype_, other.dtype_);
    std::swap(writable_, other.writable_);
    std::swap(count_, other.count_);
    std::swap(data_, other.data_);
    shape_.swap(other.shape_);
    owner_.swap(other.owner_);
    device_.swap(other.device_);
  }
  static void check_size(std::size_t values, const Shape& shape);

  DType dtype_ = DType::f32;
  bool writable_ = true;
  std::int64_t count_ = 0;
  void* data_ = nullptr;
  Shape shape_;
  std::shared_ptr<rkernel::Device> device_;  ///< outlives the memory there
  std::shared_ptr<void> owner_;
};

}  // namespace dyn
