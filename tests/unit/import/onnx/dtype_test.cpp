// Dtypes of ONNX other than float: constants of each, and operators on integers, beside plain
// arithmetic in C++.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>

#include "tests/support/half.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::generator;
using testing::OnnxFile;
using Doubles = testing::Values;  // not dyn::Values

namespace {

template <class T>
std::vector<T> random_bits(std::size_t count) {
  std::vector<T> elements(count);
  for (T& element : elements) {
    if constexpr (std::is_floating_point_v<T>)
      element = std::normal_distribution<T>()(generator());
    else
      element = static_cast<T>(generator()());
  }
  return elements;
}

template <class T>
Doubles as_values(const std::vector<T>& elements) {
  return Doubles(elements.begin(), elements.end());
}

/// y = op(x, other), with the other as an input too or, where a writer is given, as a constant.
template <class T>
Doubles run_with(const std::string& op, int data_type, const std::vector<T>& x,
                 const std::vector<T>& other,
                 const std::function<void(onnx::TensorProto&)>& write_constant = {},
                 const std::function<void(onnx::NodeProto&)>& attributes = {}) {
  OnnxFile file;
  file.input("x", {"N"}, data_type).output("y");
  const auto count = static_cast<std::int64_t>(x.size());
  NamedTensors inputs{{"x", Tensor::view(x.data(), {count})}};
  if (write_constant) {
    onnx::TensorProto& constant = *file.model.mutable_graph()->add_initializer();
    constant.set_name("other");
    constant.set_data_type(data_type);
    constant.add_dims(count);
    write_constant(constant);
  } else {
    file.input("other", {"N"}, data_type);
    inputs.emplace_back("other", Tensor::view(other.data(), {count}));
  }
  onnx::NodeProto& node = file.node(op, {"x", "other"}, {"y"});
  if (attributes) attributes(node);
  return testing::run_all(file, inputs).front().values;
}

template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
}

/// Constants from raw bytes and from the field that onnx.proto names.
template <class T, class Field>
void check_constants(int data_type, const Field& field) {
  CAPTURE(data_type);
  const std::vector<T> x = random_bits<T>(19), other = random_bits<T>(19);
  std::vector<T> sums;
  for (std::size_t i = 0; i < x.size(); ++i) sums.push_back(sum_of(x[i], other[i]));
  const auto raw = [&](onnx::TensorProto& constant) {
    constant.set_raw_data(
        std::string(reinterpret_cast<const char*>(other.data()), other.size() * sizeof(T)));
  };
  const auto typed = [&](onnx::TensorProto& constant) {
    for (const T element : other) field(constant, element);
  };
  CHECK(run_with<T>("Add", data_type, x, other, raw) == as_values(sums));
  CHECK(run_with<T>("Add", data_type, x, other, typed) == as_values(sums));
}

template <class T>
void check_bits(int data_type) {
  CAPTURE(data_type);
  const std::vector<T> x = random_bits<T>(40), other = random_bits<T>(40);
  std::vector<T> shifts(40), both, either, one, left, right, larger;
  constexpr int bits = std::numeric_limits<T>::digits;
  for (std::size_t i = 0; i < 40; ++i) {
    shifts[i] = static_cast<T>(i % (bits + 3));
    both.push_back(static_cast<T>(x[i] & other[i]));
    either.push_back(static_cast<T>(x[i] | other[i]));
    one.push_back(static_cast<T>(x[i] ^ other[i]));
    left.push_back(shifts[i] < bits ? static_cast<T>(x[i] << shifts[i]) : T{0});
    right.push_back(shifts[i] < bits ? static_cast<T>(x[i] >> shifts[i]) : T{0});
    larger.push_back(std::max(x[i], other[i]));
  }
  CHECK(run_with<T>("BitwiseAnd", data_type, x, other) == as_values(both));
  CHECK(run_with<T>("BitwiseOr", data_type, x, other) == as_values(either));
  CHECK(run_with<T>("BitwiseXor", data_type, x, other) == as_values(one));
  CHECK(run_with<T>("Max", data_type, x, other) == as_values(larger));
  CHECK(run_with<T>("BitShift", data_type, x, shifts, {}, [](onnx::NodeProto& node) {
          testing::set_word(node, "direction", "LEFT");
        }) == as_values(left));
  CHECK(run_with<T>("BitShift", data_type, x, shifts, {}, [](onnx::NodeProto& node) {
          testing::set_word(node, "direction", "RIGHT");
        }) == as_values(right));
}

}  // namespace

TEST_CASE("imported constants of every dtype, raw and in their own field") {
  using Proto = onnx::TensorProto;
  const auto small = [](Proto& constant, auto element) { constant.add_int32_data(element); };
  check_constants<double>(
      Proto::DOUBLE, [](Proto& constant, double element) { constant.add_double_data(element); });
  check_constants<std::int8_t>(Proto::INT8, small);
  check_constants<std::int16_t>(Proto::INT16, small);
  check_constants<std::int32_t>(Proto::INT32, small);
  check_constants<std::int64_t>(Proto::INT64, [](Proto& constant, std::int64_t element) {
    constant.add_int64_data(element);
  });
  check_constants<std::uint8_t>(Proto::UINT8, small);
  check_constants<std::uint16_t>(Proto::UINT16, small);
  const auto wide = [](Proto& constant, std::uint64_t element) {
    constant.add_uint64_data(element);
  };
  check_constants<std::uint32_t>(Proto::UINT32, wide);
  check_constants<std::uint64_t>(Proto::UINT64, wide);
}

TEST_CASE("imported operators on bits") {
  check_bits<std::uint8_t>(onnx::TensorProto::UINT8);
  check_bits<std::uint16_t>(onnx::TensorProto::UINT16);
  check_bits<std::uint32_t>(onnx::TensorProto::UINT32);
  check_bits<std::uint64_t>(onnx::TensorProto::UINT64);
}

TEST_CASE("imported powers have the base's dtype") {
  const std::vector<std::int32_t> bases = {1, 2, 3, 4, 50, -3};
  const std::vector<float> exponents = {0.5F, 3, 4.5F, -1, 2, 3};
  for (const bool integer_base : {true, false}) {
    OnnxFile file;
    file.input("x", {6}, integer_base ? onnx::TensorProto::INT32 : onnx::TensorProto::FLOAT)
        .input("e", {6}, integer_base ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT32);
    file.output("y").node("Pow", {"x", "e"}, {"y"});
    const Tensor integers = Tensor::view(bases.data(), {6}),
                 floats = Tensor::view(exponents.data(), {6});
    Doubles expected;
    for (std::size_t i = 0; i < 6; ++i) {
      const double base = bases[i], exponent = static_cast<double>(exponents[i]);
      expected.push_back(integer_base
                             ? std::trunc(std::pow(base, exponent))
                             : static_cast<double>(static_cast<float>(std::pow(exponent, base))));
    }
    testing::check_close(testing::run_all(file, {{"x", integer_base ? integers : floats},
                                                 {"e", integer_base ? floats : integers}})
                             .front()
                             .values,
                         expected);
  }
}

TEST_CASE("imported infinities are told by their sign") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> x = {1, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                                 1e300};
  for (const int negative : {0, 1}) {
    for (const int positive : {0, 1}) {
      OnnxFile file;
      file.input("x", {"N"}, onnx::TensorProto::DOUBLE).output("y");
      onnx::NodeProto& node = file.node("IsInf", {"x"}, {"y"});
      testing::set(node, "detect_negative", negative);
      testing::set(node, "detect_positive", positive);
      const Doubles expected = {0, static_cast<double>(positive), static_cast<double>(negative), 0,
                                0};
      CHECK(testing::run_all(file, {{"x", Tensor::view(x.data(), {5})}}).front().values ==
            expected);
    }
  }
}

TEST_CASE("imported remainders of integers have the sign of either side") {
  const std::vector<std::int16_t> a = {7, -7, 7, -7, 300, -32768}, b = {3, 3, -3, -3, 256, -1};
  const auto of_dividend = [](onnx::NodeProto& node) { testing::set(node, "fmod", 1); };
  CHECK(run_with<std::int16_t>("Mod", onnx::TensorProto::INT16, a, b) ==
        Doubles{1, 2, -2, -1, 44, 0});
  CHECK(run_with<std::int16_t>("Mod", onnx::TensorProto::INT16, a, b, {}, of_dividend) ==
        Doubles{1, -1, 1, -1, 44, 0});
}

TEST_CASE(
    "imported 16-bit floats are rounded as outputs, and in a strict import by every operator") {
  for (const auto& [data_type, dtype, strict] :
       {std::tuple{onnx::TensorProto::FLOAT16, DType::f16, false},
        std::tuple{onnx::TensorProto::BFLOAT16, DType::bf16, false},
        std::tuple{onnx::TensorProto::FLOAT16, DType::f16, true},
        std::tuple{onnx::TensorProto::BFLOAT16, DType::bf16, true}}) {
    CAPTURE(name_of(dtype));
    CAPTURE(strict);
    constexpr int count = 24;
    const std::vector<float> x_numbers = testing::random_floats(count),
                             other_numbers = testing::random_floats(count);
    std::vector<std::uint16_t> x, other;
    for (const float number : x_numbers)
      x.push_back(testing::half_bits(dtype, static_cast<double>(number)));
    for (const float number : other_numbers)
      other.push_back(testing::half_bits(dtype, static_cast<double>(number)));
    const auto rounded = [dtype = dtype](double value) {
      return testing::half_value(dtype, testing::half_bits(dtype, value));
    };
    const auto value = [dtype = dtype](std::uint16_t bits) {
      return testing::half_value(dtype, bits);
    };

    OnnxFile file;
    file.input("x", {4, 6}, data_type).output("y").output("z");
    onnx::TensorProto& constant = *file.model.mutable_graph()->add_initializer();
    constant.set_name("other");
    constant.set_data_type(data_type);
    constant.add_dims(4);
    constant.add_dims(6);
    for (const std::uint16_t bits : other) constant.add_int32_data(bits);
    file.node("Add", {"x", "other"}, {"sum"});
    file.node("Sub", {"sum", "x"}, {"y"});
    file.node("Transpose", {"other"}, {"turned"});
    file.node("MatMul", {"x", "turned"}, {"z"});
    Options options;
    options.strict = strict;
    const auto results = testing::run_all(
        file, {{"x", Tensor::view(dtype, static_cast<const void*>(x.data()), {4, 6})}}, options);
    Doubles differences, products;
    for (std::size_t i = 0; i < count; ++i) {
      const double sum = value(x[i]) + value(other[i]), wide = static_cast<float>(sum);
      differences.push_back(rounded((strict ? rounded(sum) : wide) - value(x[i])));
    }
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 6; ++k) sum += value(x[i * 6 + k]) * value(other[j * 6 + k]);
        products.push_back(rounded(sum));
      }
    CHECK(results[0].values == differences);
    testing::check_close(results[1].values, products, dtype == DType::f16 ? 0x1p-10 : 0x1p-7);
  }
}
