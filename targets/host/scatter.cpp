// Updates of elements at given places.

#include <algorithm>
#include <cstring>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

/// The index counted from the front; -1 where it is outside.
std::int64_t place_of(std::int64_t index, std::int64_t extent) {
  const std::int64_t place = index < 0 ? index + extent : index;
  return place >= 0 && place < extent ? place : -1;
}

template <class T>
void update(T& element, T by, std::string_view reduction) {
  if (reduction == "none")
    element = by;
  else if (reduction == "add")
    element = static_cast<T>(element + by);
  else if (reduction == "mul")
    element = static_cast<T>(element * by);
  else if (reduction == "max")
    element = std::max(element, by);
  else
    element = std::min(element, by);
}

void copy_data(const Call& call) {
  const Array &from = call.inputs[0], &to = call.outputs[0];
  const std::size_t bytes = static_cast<std::size_t>(from.size()) * size_of(from.dtype);
  if (bytes > 0) std::memcpy(to.data, from.data, bytes);
}

std::int64_t index_at(const Array& indices, std::int64_t i) {
  return indices.dtype == DType::i32 ? static_cast<const std::int32_t*>(indices.data)[i]
                                     : static_cast<const std::int64_t*>(indices.data)[i];
}

template <class T>
Outcome scatter_elements(const Call& call) {
  const Array &indices = call.inputs[1], &result = call.outputs[0];
  const std::string reduction = graph::attr_word(call.node, "reduction");
  const std::size_t axis = call.axis("axis"), rank = result.dims.size();
  Shape strides(rank, 1), at(rank, 0);
  for (std::size_t d = rank - 1; d > 0; --d) strides[d - 1] = strides[d] * result.dims[d];
  const auto* updates = static_cast<const T*>(call.inputs[2].data);
  auto* elements = static_cast<T*>(result.data);
  for (std::int64_t i = 0, count = indices.size(); i < count; ++i) {
    const std::int64_t place = place_of(index_at(indices, i), result.dims[axis]);
    if (place < 0) return Outcome::IndexOutOfRange;
    std::int64_t offset = place * strides[axis];
    for (std::size_t d = 0; d < rank; ++d) offset += d == axis ? 0 : at[d] * strides[d];
    update(elements[offset], updates[i], reduction);
    for (std::size_t d = rank; d-- > 0 && ++at[d] == indices.dims[d];) at[d] = 0;
  }
  return Outcome::Ok;
}

template <class T>
Outcome scatter_nd(const Call& call) {
  const Array &indices = call.inputs[1], &result = call.outputs[0];
  const std::string reduction = graph::attr_word(call.node, "reduction");
  const std::int64_t depth = indices.dims.back();
  std::int64_t slice = 1, rows = 1;
  for (std::size_t d = static_cast<std::size_t>(depth); d < result.dims.size(); ++d)
    slice *= result.dims[d];
  for (std::size_t d = 0; d + 1 < indices.dims.size(); ++d) rows *= indices.dims[d];
  const auto* updates = static_cast<const T*>(call.inputs[2].data);
  auto* elements = static_cast<T*>(result.data);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t offset = 0;
    for (std::int64_t d = 0; d < depth; ++d) {
      const std::int64_t extent = result.dims[static_cast<std::size_t>(d)],
                         place = place_of(index_at(indices, row * depth + d), extent);
      if (place < 0) return Outcome::IndexOutOfRange;
      offset = offset * extent + place;
    }
    for (std::int64_t i = 0; i < slice; ++i)
      update(elements[offset * slice + i], updates[row * slice + i], reduction);
  }
  return Outcome::Ok;
}

template <Outcome (*of_bits)(DType, const Call&)>
Outcome run(const Call& call) {
  copy_data(call);
  return of_bits(call.inputs[0].dtype, call);
}

/// Elements that are only moved need no arithmetic, so every dtype will do.
template <class Body>
Outcome visit_updates(DType dtype, const Call& call, const Body& body) {
  Outcome outcome = Outcome::Ok;
  const auto visit = [&](auto zero) { outcome = body(zero); };
  if (graph::attr_word(call.node, "reduction") == "none")
    visit_bits(dtype, visit);
  else
    visit_numbers(dtype, visit);
  return outcome;
}

Outcome scatter_elements_of(DType dtype, const Call& call) {
  return visit_updates(dtype, call,
                       [&](auto zero) { return scatter_elements<decltype(zero)>(call); });
}

Outcome scatter_nd_of(DType dtype, const Call& call) {
  return visit_updates(dtype, call, [&](auto zero) { return scatter_nd<decltype(zero)>(call); });
}

constexpr Operator scatter_family[] = {{graph::OpId::ScatterElements, run<scatter_elements_of>},
                                       {graph::OpId::ScatterNd, run<scatter_nd_of>}};

}  // namespace

std::span<const Operator> scatter_operators() { return scatter_family; }

}  // namespace dyn::host
