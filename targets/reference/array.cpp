// Arrays and their exchange with tensors.

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::reference {
namespace {

template <class T>
void read(const Tensor& tensor, auto& values) {
  const auto* source = static_cast<const T*>(tensor.raw());
  values.assign(source, source + tensor.size());
}

template <class T>
void write(const auto& values, Tensor& tensor) {
  auto* target = static_cast<T*>(tensor.raw());
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = static_cast<T>(values[i]);
}

[[noreturn]] void refuse(DType dtype) {
  throw Error(ErrorKind::unsupported,
              fmt::format("the reference target has no {} arrays; convert to f32 first", name_of(dtype)));
}

}  // namespace

Array make_array(DType dtype, std::vector<std::int64_t> dims) {
  Array array{dtype, std::move(dims), {}, {}};
  const auto count = static_cast<std::size_t>(element_count(array.dims));
  if (is_float(dtype)) {
    array.floats.resize(count);
  } else {
    array.integers.resize(count);
  }
  return array;
}

Array from_tensor(const Tensor& tensor) {
  Array array{tensor.dtype(), tensor.shape(), {}, {}};
  switch (tensor.dtype()) {
    case DType::f32: read<float>(tensor, array.floats); break;
    case DType::i8: read<std::int8_t>(tensor, array.integers); break;
    case DType::i32: read<std::int32_t>(tensor, array.integers); break;
    case DType::i64: read<std::int64_t>(tensor, array.integers); break;
    case DType::boolean:
      read<std::uint8_t>(tensor, array.integers);
      for (auto& value : array.integers) value = value != 0;
      break;
    default: refuse(tensor.dtype());
  }
  return array;
}

Tensor to_tensor(const Array& array) {
  Tensor tensor(array.dtype, array.dims);
  switch (array.dtype) {
    case DType::f32: write<float>(array.floats, tensor); break;
    case DType::i8: write<std::int8_t>(array.integers, tensor); break;
    case DType::i32: write<std::int32_t>(array.integers, tensor); break;
    case DType::i64: write<std::int64_t>(array.integers, tensor); break;
    case DType::boolean: write<std::uint8_t>(array.integers, tensor); break;
    default: refuse(array.dtype);
  }
  return tensor;
}

}  // namespace dyn::reference
