// Operators that only move elements: each fills its result from computed places of its input.

#include <algorithm>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

void copy_element(const Array& from, std::int64_t source, Array& to, std::int64_t target) {
  if (is_float(to.dtype)) {
    to.floats[static_cast<std::size_t>(target)] = from.floats[static_cast<std::size_t>(source)];
  } else {
    to.integers[static_cast<std::size_t>(target)] = from.integers[static_cast<std::size_t>(source)];
  }
}

/// An array of `dims` whose element (i, j, ...) is from[start + i * strides[0] + j * strides[1] +
/// ...].
Array view_copy(const Array& from, const Dims& dims, std::int64_t start, const Dims& strides) {
  Array result = make_array(from.dtype, dims);
  std::int64_t next = 0;
  for_each_index<1>(dims, {strides},
                    [&](const auto& at) { copy_element(from, start + at[0], result, next++); });
  return result;
}

/// Writes `part` into `whole` at the places start + i * strides[0] + ...
void view_write(const Array& part, Array& whole, std::int64_t start, const Dims& strides) {
  std::int64_t next = 0;
  for_each_index<1>(part.dims, {strides},
                    [&](const auto& at) { copy_element(part, next++, whole, start + at[0]); });
}

/// A -1 among the dims stands for the size that the others leave.
std::vector<Array> reshape(const OpCall& call) {
  Array result = call.input(0);
  Dims dims = call.dims("shape");
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open != dims.end()) {
    const auto known = -product(dims);
    *open = known == 0 ? 0 : product(result.dims) / known;
  }
  if (product(dims) != product(result.dims)) call.fail("the number of elements changes");
  result.dims = dims;
  return {result};
}

std::vector<Array> transpose(const OpCall& call) {
  const Array& x = call.input(0);
  const auto dense = dense_strides(x.dims);
  Dims dims, strides;
  for (const auto given : call.integers("perm")) {
    const auto axis = call.normal_axis(given, x.dims.size());
    dims.push_back(x.dims[axis]);
    strides.push_back(dense[axis]);
  }
  return {view_copy(x, dims, 0, strides)};
}

std::vector<Array> expand(const OpCall& call) {
  const Array& x = call.input(0);
  const Dims dims = call.dims("shape");
  if (broadcast_dims(x.dims, dims) != dims) call.fail("the input does not broadcast to the shape");
  return {view_copy(x, dims, 0, broadcast_strides(x.dims, dims))};
}

/// Indices start, start + step, ... below end.
struct Section {
  std::int64_t start, end, step;
  std::int64_t size() const {
    return step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
  }
};

/// Section number i of a slice along an axis of size `extent`.
Section section_of(const OpCall& call, std::size_t i, std::int64_t extent) {
  const auto steps = call.integers("steps");
  const Dims starts = call.dims("starts"), ends = call.dims("ends");
  if (!steps.empty() && steps[i] == -1) return {extent - 1, -1, -1};
  const auto from_front = [&](std::int64_t position) {
    return position < 0 ? position + extent : position;
  };
  const Section section{starts.empty() ? 0 : from_front(starts[i]),
                        ends.empty() ? extent : from_front(ends[i]), steps.empty() ? 1 : steps[i]};
  if (section.start < 0 || section.start > section.end || section.end > extent) {
    call.fail(
        fmt::format("{}..{} is outside of an axis of {}", section.start, section.end, extent));
  }
  return section;
}

std::vector<Array> slice(const OpCall& call) {
  const Array& x = call.input(0);
  const auto axes = call.integers("axes");
  Dims dims = x.dims, strides = dense_strides(x.dims);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = call.normal_axis(axes[i], x.dims.size());
    const auto section = section_of(call, i, x.dims[axis]);
    offset += section.start * strides[axis];
    dims[axis] = section.size();
    strides[axis] *= section.step;
  }
  return {view_copy(x, dims, offset, strides)};
}

std::vector<Array> split(const OpCall& call) {
  const Array& x = call.input(0);
  const auto axis = call.axis("axis", x.dims.size());
  const auto strides = dense_strides(x.dims);
  std::vector<Array> parts;
  std::int64_t start = 0;
  for (const auto size : call.dims("sizes")) {
    Dims dims = x.dims;
    dims[axis] = size;
    parts.push_back(view_copy(x, dims, start * strides[axis], strides));
    start += size;
  }
  if (start != x.dims[axis]) call.fail("the sizes do not add up to the axis");
  return parts;
}

std::vector<Array> concat(const OpCall& call) {
  Dims dims = call.input(0).dims;
  const auto axis = call.axis("axis", dims.size());
  for (std::size_t i = 1; i < call.inputs.size(); ++i) dims[axis] += call.input(i).dims[axis];
  Array result = make_array(call.input(0).dtype, dims);
  const auto strides = dense_strides(dims);
  std::int64_t start = 0;
  for (const auto* part : call.inputs) {
    view_write(*part, result, start * strides[axis], strides);
    start += part->dims[axis];
  }
  return {result};
}

std::vector<Array> pad(const OpCall& call) {
  const Array& x = call.input(0);
  const Dims before = call.dims("before"), after = call.dims("after");
  const double value = call.number("value");
  Dims dims = x.dims;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) dims[axis] += before[axis] + after[axis];
  Array result = make_array(x.dtype, dims);
  std::fill(result.floats.begin(), result.floats.end(), value);
  std::fill(result.integers.begin(), result.integers.end(), graph::saturated(x.dtype, value));
  const auto strides = dense_strides(dims);
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) start += before[axis] * strides[axis];
  view_write(x, result, start, strides);
  return {result};
}

std::vector<Array> append(const OpCall& call) {
  Array result = call.input(0);
  const Array& x = call.input(1);
  const auto axis = call.axis("axis", result.dims.size());
  const auto at = call.dim("at");
  if (at < 0 || at + x.dims[axis] > result.dims[axis])
    call.fail("the positions are outside of the state");
  const auto strides = dense_strides(result.dims);
  view_write(x, result, at * strides[axis], strides);
  return {result};
}

/// result[.., i.., ..] = table[.., indices[i..], ..]; a negative index counts from the end.
std::vector<Array> gather(const OpCall& call) {
  const Array &table = call.input(0), &indices = call.input(1);
  const auto axis = call.axis("axis", table.dims.size());
  const auto extent = table.dims[axis];
  const auto outer = product(table.dims, 0, axis),
             inner = product(table.dims, axis + 1, table.dims.size());
  Dims dims(table.dims.begin(), table.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), table.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
              table.dims.end());
  Array result = make_array(table.dtype, dims);
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < outer; ++block) {
    for (const auto given : indices.integers) {
      const auto row = given < 0 ? given + extent : given;
      if (row < 0 || row >= extent)
        call.fail(fmt::format("index {} is out of range for {} rows", given, extent));
      for (std::int64_t i = 0; i < inner; ++i)
        copy_element(table, (block * extent + row) * inner + i, result, next++);
    }
  }
  return {result};
}

std::vector<Array> range(const OpCall& call) {
  const auto start = call.dim("start"), end = call.dim("end"), step = call.integer("step");
  std::vector<std::int64_t> values;
  for (auto value = start; step > 0 ? value < end : value > end; value += step)
    values.push_back(value);
  Array result{call.output_dtype(), {static_cast<std::int64_t>(values.size())}, {}, {}};
  if (is_float(result.dtype)) {
    result.floats.assign(values.begin(), values.end());
  } else {
    result.integers = values;
  }
  return {result};
}

constexpr OpEntry movement_entries[] = {
    {graph::OpId::Reshape, reshape}, {graph::OpId::Transpose, transpose},
    {graph::OpId::Expand, expand},   {graph::OpId::Slice, slice},
    {graph::OpId::Split, split},     {graph::OpId::Concat, concat},
    {graph::OpId::Pad, pad},         {graph::OpId::Gather, gather},
    {graph::OpId::Range, range},     {graph::OpId::Append, append},
};

}  // namespace

std::span<const OpEntry> movement_ops() { return movement_entries; }

}  // namespace dyn::reference
