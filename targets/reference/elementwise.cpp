// Unary, binary, compare, where and cast: one loop each, broadcasting by strides.

#include <array>
#include <cmath>

#include "graph/ir/scalars.hpp"
#include "targets/reference/ops.hpp"
#include "targets/reference/scalar.hpp"

namespace dyn::reference {
namespace {

using scalar::truncate_bits;

template <auto f>
std::vector<Array> float_map(const OpCall& call) {
  Array result = make_array(call.input(0).dtype, call.input(0).dims);
  for (std::size_t i = 0; i < result.floats.size(); ++i) result.floats[i] = f(call.input(0).floats[i]);
  return {result};
}

/// For operators of floats and integers.
template <auto f, auto g>
std::vector<Array> map(const OpCall& call) {
  if (is_float(call.input(0).dtype)) return float_map<f>(call);
  Array result = make_array(call.input(0).dtype, call.input(0).dims);
  for (std::size_t i = 0; i < result.integers.size(); ++i) result.integers[i] = g(result.dtype, call.input(0).integers[i]);
  return {result};
}

std::int64_t negate(DType, std::int64_t x) { return wrap(0 - static_cast<std::uint64_t>(x)); }

std::vector<Array> is_nan(const OpCall& call) {
  Array result = make_array(DType::boolean, call.input(0).dims);
  for (std::size_t i = 0; i < result.integers.size(); ++i) result.integers[i] = std::isnan(call.input(0).floats[i]);
  return {result};
}

std::vector<Array> cast(const OpCall& call) {
  const Array& x = call.input(0);
  Array result = make_array(call.output_dtype(), x.dims);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
    if (is_float(result.dtype)) {
      result.floats[i] = is_float(x.dtype) ? x.floats[i] : scalar::to_number(x.integers[i], x.dtype);
      // By way of f32, as everything that becomes a 16-bit float.
      if (graph::is_half(result.dtype)) result.floats[i] = rounded_to(DType::f32, result.floats[i]);
    } else {
      result.integers[i] = is_float(x.dtype) ? scalar::to_integer(x.floats[i], result.dtype)
                                             : truncate_bits(x.integers[i], result.dtype);
    }
  }
  return {result};
}

/// target[i] = f(a[i'], b[i'']) over the broadcast index space of a and b.
void combine(const Array& a, const Array& b, const auto& a_values, const auto& b_values, Array& result, auto& target,
             auto f) {
  std::size_t next = 0;
  for_each_index<2>(result.dims, {broadcast_strides(a.dims, result.dims), broadcast_strides(b.dims, result.dims)},
                    [&](const auto& at) {
                      target[next++] = f(a_values[static_cast<std::size_t>(at[0])],
                                         b_values[static_cast<std::size_t>(at[1])]);
                    });
}

template <auto f, auto g>
std::vector<Array> binary(const OpCall& call) {
  const Array &a = call.input(0), &b = call.input(1);
  Array result = make_array(a.dtype, broadcast_dims(a.dims, b.dims));
  if (is_float(a.dtype)) {
    combine(a, b, a.floats, b.floats, result, result.floats, f);
  } else {
    combine(a, b, a.integers, b.integers, result, result.integers, [&](std::int64_t x, std::int64_t y) { return g(a.dtype, x, y); });
  }
  return {result};
}

/// `integer_compare` takes the dtype too.
template <auto compare, auto integer_compare>
std::vector<Array> comparison(const OpCall& call) {
  const Array &a = call.input(0), &b = call.input(1);
  Array result = make_array(DType::boolean, broadcast_dims(a.dims, b.dims));
  if (is_float(a.dtype)) {
    combine(a, b, a.floats, b.floats, result, result.integers, compare);
  } else {
    combine(a, b, a.integers, b.integers, result, result.integers, [&](std::int64_t x, std::int64_t y) { return integer_compare(a.dtype, x, y); });
  }
  return {result};
}

std::vector<Array> where(const OpCall& call) {
  const Array &condition = call.input(0), &yes = call.input(1), &no = call.input(2);
  Array result = make_array(yes.dtype, broadcast_dims(condition.dims, broadcast_dims(yes.dims, no.dims)));
  const std::array strides{broadcast_strides(condition.dims, result.dims), broadcast_strides(yes.dims, result.dims),
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

using u64 = std::uint64_t;
constexpr auto sub_integers = [](DType, std::int64_t a, std::int64_t b) { return wrap(u64(a) - u64(b)); };
constexpr auto pow_floats = [](double a, double b) { return std::pow(a, b); };
constexpr auto mod_integers = [](DType dtype, std::int64_t a, std::int64_t b) { return scalar::mod(dtype, a, b); };
constexpr auto mod_floats = [](double a, double b) { return scalar::mod(a, b); };
constexpr auto no_floats = [](double a, double) { return a; };
constexpr auto sign_float = [](double x) { return std::isnan(x) ? x : double((x > 0) - (x < 0)); };
constexpr auto sign_integer = [](DType dtype, std::int64_t x) { return std::int64_t(x != 0 ? (scalar::less(dtype, x, 0) ? -1 : 1) : 0); };
constexpr auto relu_float = [](double x) { return scalar::maximum(x, 0); };

constexpr OpEntry elementwise_entries[] = {
    {"neg", map<[](double x) { return -x; }, negate>},
    {"abs", map<[](double x) { return std::fabs(x); }, [](DType dtype, std::int64_t x) { return scalar::less(dtype, x, 0) ? negate(dtype, x) : x; }>},
    {"sign", map<sign_float, sign_integer>},
    {"relu", map<relu_float, [](DType dtype, std::int64_t x) { return scalar::less(dtype, 0, x) ? x : 0; }>},
    {"exp", float_map<[](double x) { return std::exp(x); }>},
    {"log", float_map<[](double x) { return std::log(x); }>},
    {"sqrt", float_map<[](double x) { return std::sqrt(x); }>},
    {"rsqrt", float_map<[](double x) { return 1 / std::sqrt(x); }>},
    {"reciprocal", float_map<[](double x) { return 1 / x; }>},
    {"tanh", float_map<[](double x) { return std::tanh(x); }>},
    {"erf", float_map<[](double x) { return std::erf(x); }>},
    {"sin", float_map<[](double x) { return std::sin(x); }>},
    {"cos", float_map<[](double x) { return std::cos(x); }>},
    {"tan", float_map<[](double x) { return std::tan(x); }>},
    {"asin", float_map<[](double x) { return std::asin(x); }>},
    {"acos", float_map<[](double x) { return std::acos(x); }>},
    {"atan", float_map<[](double x) { return std::atan(x); }>},
    {"sinh", float_map<[](double x) { return std::sinh(x); }>},
    {"cosh", float_map<[](double x) { return std::cosh(x); }>},
    {"asinh", float_map<[](double x) { return std::asinh(x); }>},
    {"acosh", float_map<[](double x) { return std::acosh(x); }>},
    {"atanh", float_map<[](double x) { return std::atanh(x); }>},
    {"floor", float_map<[](double x) { return std::floor(x); }>},
    {"ceil", float_map<[](double x) { return std::ceil(x); }>},
    {"round", float_map<scalar::round_half_even>},
    {"sigmoid", float_map<scalar::sigmoid>},
    {"isnan", is_nan},
    {"logical_not", map<[](double x) { return x; }, [](DType, std::int64_t x) { return std::int64_t{x == 0}; }>},
    {"cast", cast},
    {"add", binary<[](double a, double b) { return a + b; }, scalar::add>},
    {"sub", binary<[](double a, double b) { return a - b; }, sub_integers>},
    {"mul", binary<[](double a, double b) { return a * b; }, scalar::multiply>},
    {"div", binary<[](double a, double b) { return a / b; }, scalar::divide>},
    {"pow", binary<pow_floats, scalar::power>},
    {"mod", binary<mod_floats, mod_integers>},
    {"maximum", binary<scalar::maximum, scalar::largest>},
    {"minimum", binary<scalar::minimum, scalar::smallest>},
    {"bit_not", map<[](double x) { return x; }, [](DType, std::int64_t x) { return ~x; }>},
    {"bit_and", binary<no_floats, [](DType, std::int64_t a, std::int64_t b) { return a & b; }>},
    {"bit_or", binary<no_floats, [](DType, std::int64_t a, std::int64_t b) { return a | b; }>},
    {"bit_xor", binary<no_floats, [](DType, std::int64_t a, std::int64_t b) { return a ^ b; }>},
    {"shift_left", binary<no_floats, scalar::shift_left>},
    {"shift_right", binary<no_floats, scalar::shift_right>},
    {"logical_and", comparison<[](double a, double b) { return a != 0 && b != 0; }, [](DType, auto a, auto b) { return a != 0 && b != 0; }>},
    {"logical_or", comparison<[](double a, double b) { return a != 0 || b != 0; }, [](DType, auto a, auto b) { return a != 0 || b != 0; }>},
    {"equal", comparison<[](double a, double b) { return a == b; }, [](DType, auto a, auto b) { return a == b; }>},
    {"not_equal", comparison<[](double a, double b) { return a != b; }, [](DType, auto a, auto b) { return a != b; }>},
    {"less", comparison<[](double a, double b) { return a < b; }, scalar::less>},
    {"less_equal", comparison<[](double a, double b) { return a <= b; }, [](DType dtype, auto a, auto b) { return !scalar::less(dtype, b, a); }>},
    {"greater", comparison<[](double a, double b) { return b < a; }, [](DType dtype, auto a, auto b) { return scalar::less(dtype, b, a); }>},
    {"greater_equal", comparison<[](double a, double b) { return b <= a; }, [](DType dtype, auto a, auto b) { return !scalar::less(dtype, a, b); }>},
    {"where", where},
};

}  // namespace

std::span<const OpEntry> elementwise_ops() { return elementwise_entries; }

}  // namespace dyn::reference
