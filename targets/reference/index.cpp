#include "targets/reference/index.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"

namespace dyn::reference {

std::int64_t product(const Dims& dims, std::size_t first, std::size_t last) {
  std::int64_t result = 1;
  for (auto i = first; i < last; ++i) result *= dims[i];
  return result;
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (auto axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return strides;
}

Dims broadcast_strides(const Dims& dims, const Dims& space) {
  const auto dense = dense_strides(dims);
  const auto missing = space.size() - dims.size();
  Dims strides(space.size(), 0);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != 1) strides[missing + axis] = dense[axis];
  }
  return strides;
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const auto missing = longer.size() - shorter.size();
  for (std::size_t axis = 0; axis < shorter.size(); ++axis) {
    auto& dim = result[missing + axis];
    const auto other = shorter[axis];
    if (dim != other && dim != 1 && other != 1) {
      throw Error(ErrorKind::user, fmt::format("shapes [{}] and [{}] do not broadcast",
                                               fmt::join(a, ", "), fmt::join(b, ", ")));
    }
    if (dim == 1) dim = other;
  }
  return result;
}

}  // namespace dyn::reference
