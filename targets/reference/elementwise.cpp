// Unary, binary, compare, where and cast: one loop each, broadcasting by strides.

#include <array>

#include "graph/ir/scalars.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

double number_at(const Array& x, std::size_t i) {
  if (is_float(x.dtype)) return x.floats[i];
  return x.dtype >= DType::f8e4m3fn && x.dtype <= DType::f4e2m1
             ? number_of_code(x.dtype, x.integers[i])
             : graph::as_number(x.dtype, x.integers[i]);
}

/// The low bits of an integer as i4, u4, i2 or u2.
std::int64_t low_bits(DType dtype, std::int64_t integer) {
  const std::int64_t count = dtype == DType::i4 || dtype == DType::u4 ? 16 : 4;
  const std::int64_t rest = (integer % count + count) % count;
  const bool is_signed = dtype == DType::i4 || dtype == DType::i2;
  return is_signed && rest >= count / 2 ? rest - count : rest;
}

/// A cast from or to a dtype of codes.
Array cast_of_codes(const Array& x, Array result) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
    const double number = number_at(x, i);
    if (is_float(result.dtype))
      result.floats[i] = number;
    else if (result.dtype >= DType::i4)
      result.integers[i] = low_bits(result.dtype, graph::saturated(DType::i32, number));
    else if (result.dtype >= DType::f8e4m3fn)
      result.integers[i] = nearest_code(result.dtype, rounded_to(DType::f32, number));
    else
      result.integers[i] = graph::saturated(result.dtype, number);
  }
  return result;
}

/// By way of memory, whose bytes are the same.
std::vector<Array> bit_cast(const OpCall& call) {
  const Array& x = call.input(0);
  const Tensor tensor = to_tensor(x);
  const DType to = call.output_dtype();
  Array result = from_tensor(Tensor::view(to, tensor.raw(), x.dims));
  const bool is_packed = to >= DType::i4;
  for (std::size_t i = 0; is_packed && i < result.integers.size(); ++i)
    result.integers[i] = low_bits(to, result.integers[i]);
  for (std::size_t i = 0; to == DType::f4e2m1 && i < result.integers.size(); ++i)
    result.integers[i] = low_bits(DType::u4, result.integers[i]);
  return {result};
}

std::vector<Array> cast(const OpCall& call) {
  const Array& x = call.input(0);
  if (is_code(x.dtype) || is_code(call.output_dtype()))
    return {cast_of_codes(x, make_array(call.output_dtype(), x.dims))};
  Array result = make_array(call.output_dtype(), x.dims);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
    if (is_float(result.dtype)) {
      result.floats[i] = is_float(x.dtype) ? x.floats[i] : graph::as_number(x.dtype, x.integers[i]);
      // Rounds to f32 first, as everywhere before a 16-bit float.
      if (graph::is_half(result.dtype)) result.floats[i] = rounded_to(DType::f32, result.floats[i]);
    } else {
      result.integers[i] =
          is_float(x.dtype)
              ? graph::saturated(result.dtype, x.floats[i])
              : graph::wrapped(result.dtype, static_cast<std::uint64_t>(x.integers[i]));
    }
  }
  return {result};
}

/// target[i] = f(a[i'], b[i'']) over the broadcast index space of a and b.
void combine(const Array& a, const Array& b, const auto& a_values, const auto& b_values,
             Array& result, auto& target, auto f) {
  std::size_t next = 0;
  for_each_index<2>(
      result.dims, {broadcast_strides(a.dims, result.dims), broadcast_strides(b.dims, result.dims)},
      [&](const auto& at) {
        target[next++] =
            f(a_values[static_cast<std::size_t>(at[0])], b_values[static_cast<std::size_t>(at[1])]);
      });
}

const graph::ScalarOpInfo& info_of(const OpCall& call) { return *call.node.op->scalar; }

std::vector<Array> unary(const OpCall& call) {
  const graph::ScalarOpInfo& op = info_of(call);
  const Array& x = call.input(0);
  Array result = make_array(call.output_dtype(), x.dims);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
    if (is_float(result.dtype)) {
      result.floats[i] = op.number(x.floats[i], 0);
    } else {
      result.integers[i] = is_float(x.dtype) ? op.number(x.floats[i], 0) != 0
                                             : op.integer(x.dtype, x.integers[i], 0);
    }
  }
  return {result};
}

std::vector<Array> binary(const OpCall& call) {
  const graph::ScalarOpInfo& op = info_of(call);
  const Array &a = call.input(0), &b = call.input(1);
  Array result = make_array(call.output_dtype(), broadcast_dims(a.dims, b.dims));
  if (is_float(result.dtype)) {
    combine(a, b, a.floats, b.floats, result, result.floats, op.number);
  } else if (is_float(a.dtype)) {
    combine(a, b, a.floats, b.floats, result, result.integers,
            [&](double x, double y) { return op.number(x, y) != 0; });
  } else {
    combine(a, b, a.integers, b.integers, result, result.integers,
            [&](std::int64_t x, std::int64_t y) { return op.integer(a.dtype, x, y); });
  }
  return {result};
}

std::vector<Array> where(const OpCall& call) {
  const Array &condition = call.input(0), &yes = call.input(1), &no = call.input(2);
  Array result =
      make_array(yes.dtype, broadcast_dims(condition.dims, broadcast_dims(yes.dims, no.dims)));
  const std::array strides{broadcast_strides(condition.dims, result.dims),
                           broadcast_strides(yes.dims, result.dims),
                           broadcast_strides(no.dims, result.dims)};
  std::size_t next = 0;
  for_each_index<3>(result.dims, strides, [&](const auto& at) {
    const bool take = condition.integers[static_cast<std::size_t>(at[0])] != 0;
    const Array& from = take ? yes : no;
    const auto place = static_cast<std::size_t>(take ? at[1] : at[2]);
    if (is_float(result.dtype)) {
      result.floats[next++] = from.floats[place];
    } else {
      result.integers[next++] = from.integers[place];
    }
  });
  return {result};
}

}  // namespace

std::span<const OpEntry> elementwise_ops() {
  static const std::vector<OpEntry> entries = [] {
    std::vector<OpEntry> made = {
        {graph::OpId::BitCast, bit_cast}, {graph::OpId::Cast, cast}, {graph::OpId::Where, where}};
    for (const graph::ScalarOpInfo& op : graph::scalar_ops())
      made.push_back({static_cast<graph::OpId>(op.op), op.operands == 1 ? unary : binary});
    return made;
  }();
  return entries;
}

}  // namespace dyn::reference
