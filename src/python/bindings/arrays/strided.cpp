#include "src/python/bindings/arrays/strided.hpp"

#include <cstring>
#include <utility>

namespace dyn::python {
namespace {

std::string joined(std::span<const std::int64_t> numbers) {
  return to_string(Shape(numbers.begin(), numbers.end()));
}

/// Copies the elements below `axis`, and returns where the next one goes.
std::byte* copy_axis(const Strided& from, std::size_t axis, const std::byte* source,
                     std::byte* into) {
  const std::size_t item = size_of(from.dtype);
  if (axis == from.shape.size()) {
    std::memcpy(into, source, item);
    return into + item;
  }
  const std::int64_t size = from.shape[axis], stride = from.strides[axis];
  if (axis + 1 == from.shape.size() && stride == static_cast<std::int64_t>(item)) {
    const std::size_t bytes = static_cast<std::size_t>(size) * item;
    std::memcpy(into, source, bytes);
    return into + bytes;
  }
  for (std::int64_t i = 0; i < size; ++i)
    into = copy_axis(from, axis + 1, source + i * stride, into);
  return into;
}

}  // namespace

bool Strided::is_dense() const {
  if (strides.empty()) return true;
  auto expected = static_cast<std::int64_t>(size_of(dtype));
  bool dense = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    dense = dense && (shape[i] == 1 || strides[i] == expected);
    if (!dense) continue;
    expected *= shape[i];
  }
  return dense;
}

bool Strided::is_aligned() const {
  return reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;
}

Tensor Strided::copy() const {
  Tensor tensor(dtype, shape);
  if (tensor.bytes() == 0) return tensor;
  auto* into = static_cast<std::byte*>(tensor.raw());
  if (is_dense())
    std::memcpy(into, data, tensor.bytes());
  else
    copy_axis(*this, 0, static_cast<const std::byte*>(data), into);
  return tensor;
}

Tensor Strided::view() const {
  return writable ? Tensor::view(dtype, data, shape)
                  : Tensor::view(dtype, static_cast<const void*>(data), shape);
}

Given to_given(const Strided& strided, std::unique_ptr<Loan> loan, const Role& role,
               Layout layout) {
  if (element_count(strided.shape) > 0 && strided.data == nullptr)
    user_error(role.text() + " has shape " + to_string(strided.shape) + ", but no memory");
  const bool is_dense = strided.is_dense();
  if (is_dense && (strided.is_aligned() || element_count(strided.shape) == 0))
    return {strided.view(), std::move(loan)};
  if (layout == Layout::copy) return {strided.copy(), nullptr};
  if (!is_dense)
    user_error(role.text() + " has strides of " + joined(strided.strides) +
               " bytes for the shape " + to_string(strided.shape) +
               "; what is bound must be dense in row-major order (numpy.ascontiguousarray, or "
               "contiguous() of a torch tensor)");
  user_error(role.text() + " is not aligned for elements of " +
             std::string(name_of(strided.dtype)) + "; what is bound must be");
}

}  // namespace dyn::python
