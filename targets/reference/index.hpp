#pragma once
// Walks index spaces: strides, broadcasting, and one loop nest for any rank.

#include <array>
#include <cstdint>
#include <vector>

namespace dyn::reference {

using Dims = std::vector<std::int64_t>;

std::int64_t product(const Dims& dims, std::size_t first, std::size_t last);
inline std::int64_t product(const Dims& dims) { return product(dims, 0, dims.size()); }

/// Elements from one index to the next along each axis of a dense array.
Dims dense_strides(const Dims& dims);

/// The strides of a dense array of `dims` seen through the (broadcast, same or higher rank) index
/// space `space`: aligned at the last axis, 0 where the array has size 1 or no such axis.
Dims broadcast_strides(const Dims& dims, const Dims& space);

/// The common dims of two operands; throws Error(user) where they do not fit.
Dims broadcast_dims(const Dims& a, const Dims& b);

/// Calls body(offsets) for every index of `space` in row-major order; offsets[k] is the dot product
/// of the index and strides[k].
template <std::size_t N, class Body>
void for_each_index(const Dims& space, const std::array<Dims, N>& strides, Body&& body) {
  if (product(space) == 0) return;
  const auto rank = space.size();
  Dims index(rank, 0);
  std::array<std::int64_t, N> offsets{};
  while (true) {
    body(static_cast<const std::array<std::int64_t, N>&>(offsets));
    auto axis = rank;
    while (axis > 0) {
      --axis;
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < space[axis]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][axis] * space[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (rank == 0) return;
  }
}

}  // namespace dyn::reference
