// Arrays and their exchange with tensors.

#include <type_traits>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/scalars.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::reference {
namespace {

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
  const bool has_elements = graph::with_element_type(tensor.dtype(), [&](auto zero) {
    using Element = std::conditional_t<std::is_same_v<decltype(zero), bool>, std::uint8_t, decltype(zero)>;
    const auto* source = static_cast<const Element*>(tensor.raw());
    if constexpr (std::is_floating_point_v<Element>) array.floats.assign(source, source + tensor.size());
    else array.integers.assign(source, source + tensor.size());
  });
  if (!has_elements) refuse(tensor.dtype());
  if (tensor.dtype() == DType::boolean)
    for (auto& value : array.integers) value = value != 0;
  return array;
}

Tensor to_tensor(const Array& array) {
  Tensor tensor(array.dtype, array.dims);
  const bool has_elements = graph::with_element_type(array.dtype, [&](auto zero) {
    using Element = decltype(zero);
    auto* target = static_cast<Element*>(tensor.raw());
    for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
      if constexpr (std::is_floating_point_v<Element>) target[i] = static_cast<Element>(array.floats[i]);
      else target[i] = static_cast<Element>(array.integers[i]);
    }
  });
  if (!has_elements) refuse(array.dtype);
  return tensor;
}

}  // namespace dyn::reference
