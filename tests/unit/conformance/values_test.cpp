// The suite's tensors, and what counts as equal.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dyn/error.hpp"
#include "tests/conformance/values.hpp"

using namespace dyn;
using conformance::difference;
using conformance::Values;

namespace {

onnx::TensorProto tensor(int data_type, std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_data_type(data_type);
  for (const std::int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

Values floats(const std::vector<float>& numbers) {
  onnx::TensorProto proto =
      tensor(onnx::TensorProto::FLOAT, {static_cast<std::int64_t>(numbers.size())});
  for (const float number : numbers) proto.add_float_data(number);
  return Values(proto);
}

std::string difference_of(const std::vector<float>& expected, std::vector<float> actual,
                          double rtol = 1e-3, double atol = 1e-7) {
  return difference(floats(expected),
                    Tensor::view(actual, {static_cast<std::int64_t>(actual.size())}), rtol, atol)
      .value_or("");
}

}  // namespace

TEST_CASE("the bits of a bfloat16 are called u16 in the suite's data") {
  onnx::TensorProto bits = tensor(onnx::TensorProto::UINT16, {2});
  for (const int each : {0x3fc0, 0xc000}) bits.add_int32_data(each);
  onnx::ValueInfoProto declared;
  declared.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BFLOAT16);
  const Values numbers(bits, declared);
  CHECK(numbers.dtype() == "bf16");
  CHECK(numbers[0] == 1.5L);
  CHECK(numbers[1] == -2.0L);
  declared.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT16);
  CHECK(Values(bits, declared)[0] == 0x3fc0);
}

TEST_CASE("numbers are read from where their dtype puts them") {
  onnx::TensorProto half = tensor(onnx::TensorProto::FLOAT16, {2});
  half.add_int32_data(0x3e00);
  half.add_int32_data(0xc000);
  CHECK(Values(half)[0] == 1.5L);
  CHECK(Values(half)[1] == -2.0L);
  onnx::TensorProto bytes = tensor(onnx::TensorProto::INT8, {3});
  for (const int number : {-128, 5, 127}) bytes.add_int32_data(number);
  CHECK(Values(bytes)[0] == -128.0L);
  CHECK(Values(bytes)[2] == 127.0L);
  onnx::TensorProto large = tensor(onnx::TensorProto::UINT64, {});
  large.add_uint64_data(std::numeric_limits<std::uint64_t>::max());
  CHECK(Values(large)[0] == 18446744073709551615.0L);
  onnx::TensorProto raw = tensor(onnx::TensorProto::DOUBLE, {1});
  const double number = -0.1;
  raw.set_raw_data(std::string(reinterpret_cast<const char*>(&number), sizeof number));
  CHECK(Values(raw)[0] == static_cast<long double>(-0.1));
  onnx::TensorProto unsigned_bytes = tensor(onnx::TensorProto::UINT8, {1});
  unsigned_bytes.add_int32_data(200);
  CHECK(Values(unsigned_bytes)[0] == 200.0L);
  raw.add_dims(2);
  CHECK_THROWS_AS(Values{raw}, Error);
}

TEST_CASE("numbers may differ by rtol of what is expected and atol, and no more") {
  CHECK(difference_of({1000, -2}, {1000.9F, -2.001F}).empty());
  CHECK(difference_of({1000, -2}, {1001.1F, -2}) ==
        "1 of 2 elements differ: element 0 is 1001.1 instead of 1000");
  CHECK(difference_of({0, 0}, {0.9e-7F, 0}).empty());
  CHECK_FALSE(difference_of({0, 0}, {0, 2e-7F}).empty());
  CHECK_FALSE(difference_of({1, 2}, {2, 1}).empty());
}

TEST_CASE("NaN and infinities stand at the same places") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  CHECK(difference_of({nan, infinity, -infinity}, {nan, infinity, -infinity}).empty());
  CHECK_FALSE(difference_of({nan}, {1}).empty());
  CHECK_FALSE(difference_of({1}, {nan}).empty());
  CHECK_FALSE(difference_of({infinity}, {-infinity}).empty());
  CHECK_FALSE(difference_of({infinity}, {3e38F}).empty());
  CHECK_FALSE(difference_of({3e38F}, {infinity}).empty());
}

TEST_CASE("dtype and shape must be equal, and booleans") {
  std::vector<float> row{1, 2};
  CHECK(difference(floats({1, 2}), Tensor::view(row, {1, 2}), 1e-3, 0) ==
        "shape [1, 2] instead of [2]");
  std::vector<std::int32_t> integers{1, 2};
  CHECK(difference(floats({1, 2}), Tensor::view(integers, {2}), 1e-3, 0) ==
        "dtype i32 instead of f32");
  onnx::TensorProto truth = tensor(onnx::TensorProto::BOOL, {1});
  truth.add_int32_data(1);
  const bool no = false;
  CHECK(difference(Values(truth), Tensor::view(&no, {1}), 10, 10).has_value());
}

TEST_CASE("integers of 64 bits are compared as they are") {
  onnx::TensorProto proto = tensor(onnx::TensorProto::INT64, {1});
  constexpr std::int64_t large = (std::int64_t{1} << 62) + 1;
  proto.add_int64_data(large);
  std::vector<std::int64_t> same{large}, other{large - 1};
  CHECK_FALSE(difference(Values(proto), Tensor::view(same, {1}), 0, 1e-7).has_value());
  CHECK(difference(Values(proto), Tensor::view(other, {1}), 0, 1e-7).has_value());
}
