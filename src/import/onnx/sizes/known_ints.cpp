#include "src/import/onnx/sizes/known_ints.hpp"

namespace dyn::onnx {
namespace {

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

/// Calls visit(index) with each index of the dims, in row-major order.
template <class Visit>
void for_each_index(std::span<const std::int64_t> dims, const Visit& visit) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<std::int64_t> index(dims.size());
  for (std::int64_t i = 0; i < count; ++i) {
    visit(index);
    for (std::size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];)
      index[axis] = 0;
  }
}

}  // namespace

std::vector<std::int64_t> dims_of(const KnownInts& ints) {
  if (ints.scalar) return {};
  return ints.dims.empty() ? std::vector{static_cast<std::int64_t>(ints.elements.size())}
                           : ints.dims;
}

KnownInts with_dims(KnownInts ints, std::vector<std::int64_t> dims) {
  ints.scalar = dims.empty();
  ints.dims = dims.size() > 1 ? std::move(dims) : std::vector<std::int64_t>{};
  return ints;
}

KnownInts taken(const KnownInts& ints, std::span<const std::vector<std::int64_t>> places) {
  const std::vector<std::int64_t> strides = row_major_strides(dims_of(ints));
  std::vector<std::int64_t> dims;
  for (const std::vector<std::int64_t>& along : places)
    dims.push_back(static_cast<std::int64_t>(along.size()));
  KnownInts result{ints.dtype, false, {}};
  for_each_index(dims, [&](const std::vector<std::int64_t>& index) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      from += places[axis][static_cast<std::size_t>(index[axis])] * strides[axis];
    result.elements.push_back(ints.elements[static_cast<std::size_t>(from)]);
  });
  return with_dims(std::move(result), std::move(dims));
}

KnownInts transposed(const KnownInts& ints, std::span<const std::int64_t> perm) {
  const std::vector<std::int64_t> before = dims_of(ints), strides = row_major_strides(before);
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : perm) dims.push_back(before[static_cast<std::size_t>(axis)]);
  KnownInts result{ints.dtype, false, {}};
  for_each_index(dims, [&](const std::vector<std::int64_t>& index) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      from += index[axis] * strides[static_cast<std::size_t>(perm[axis])];
    result.elements.push_back(ints.elements[static_cast<std::size_t>(from)]);
  });
  return with_dims(std::move(result), std::move(dims));
}

}  // namespace dyn::onnx
