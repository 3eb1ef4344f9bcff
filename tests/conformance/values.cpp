#include "tests/conformance/values.hpp"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "targets/reference/reference.hpp"
#include "tests/support/half.hpp"

namespace dyn::conformance {
namespace {

struct Element {
  int data_type;
  const char* name;
  std::size_t bytes;
  int packed_bits = 0;  ///< of elements that share a byte in a file, from the lowest bits on
  bool is_signed = false;
};
constexpr Element elements[] = {
    {onnx::TensorProto::FLOAT, "f32", 4},
    {onnx::TensorProto::DOUBLE, "f64", 8},
    {onnx::TensorProto::FLOAT16, "f16", 2},
    {onnx::TensorProto::BFLOAT16, "bf16", 2},
    {onnx::TensorProto::INT8, "i8", 1},
    {onnx::TensorProto::INT16, "i16", 2},
    {onnx::TensorProto::INT32, "i32", 4},
    {onnx::TensorProto::INT64, "i64", 8},
    {onnx::TensorProto::UINT8, "u8", 1},
    {onnx::TensorProto::UINT16, "u16", 2},
    {onnx::TensorProto::UINT32, "u32", 4},
    {onnx::TensorProto::UINT64, "u64", 8},
    {onnx::TensorProto::BOOL, "bool", 1},
    {onnx::TensorProto::COMPLEX64, "c64", 8},
    {onnx::TensorProto::COMPLEX128, "c128", 16},
    {onnx::TensorProto::FLOAT8E4M3FN, "f8e4m3fn", 1},
    {onnx::TensorProto::FLOAT8E4M3FNUZ, "f8e4m3fnuz", 1},
    {onnx::TensorProto::FLOAT8E5M2, "f8e5m2", 1},
    {onnx::TensorProto::FLOAT8E5M2FNUZ, "f8e5m2fnuz", 1},
    {onnx::TensorProto::FLOAT8E8M0, "f8e8m0", 1},
    {onnx::TensorProto::FLOAT4E2M1, "f4e2m1", 1, 4},
    {onnx::TensorProto::INT4, "i4", 1, 4, true},
    {onnx::TensorProto::UINT4, "u4", 1, 4},
    {onnx::TensorProto::INT2, "i2", 1, 2, true},
    {onnx::TensorProto::UINT2, "u2", 1, 2},
};

const Element& element_of(int data_type) {
  for (const Element& element : elements)
    if (element.data_type == data_type) return element;
  throw Error(ErrorKind::model, fmt::format("tensor with data type {}", data_type));
}

template <class From>
long double element(const std::string& bytes, std::size_t index) {
  From value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return static_cast<long double>(value);
}

template <class To, class Field>
void append(std::string& bytes, const Field& field) {
  for (const auto number : field) {
    const To value = static_cast<To>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

/// Small integers, halves and booleans lie in int32_data, unsigned ones in uint64_data.
std::string typed_bytes(const onnx::TensorProto& proto, std::size_t element_bytes) {
  std::string bytes;
  append<float>(bytes, proto.float_data());
  append<double>(bytes, proto.double_data());
  append<std::int64_t>(bytes, proto.int64_data());
  if (element_bytes == 1)
    append<std::uint8_t>(bytes, proto.int32_data());
  else if (element_bytes == 2)
    append<std::uint16_t>(bytes, proto.int32_data());
  else
    append<std::int32_t>(bytes, proto.int32_data());
  if (element_bytes == 4)
    append<std::uint32_t>(bytes, proto.uint64_data());
  else
    append<std::uint64_t>(bytes, proto.uint64_data());
  return bytes;
}

/// A byte for each element.
std::string unpacked(const Element& element, const std::string& packed, std::int64_t count) {
  std::string bytes;
  const int in_a_byte = 8 / element.packed_bits, codes = 1 << element.packed_bits;
  for (std::int64_t i = 0; i < count; ++i) {
    int byte = static_cast<unsigned char>(packed.at(static_cast<std::size_t>(i / in_a_byte)));
    for (std::int64_t skipped = i % in_a_byte; skipped > 0; --skipped) byte /= codes;
    const int code = byte % codes;
    bytes += static_cast<char>(element.is_signed && code >= codes / 2 ? code - codes : code);
  }
  return bytes;
}

bool is_close(long double expected, long double actual, double rtol, double atol) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::abs(actual - expected) <= atol + rtol * std::abs(expected);
}

}  // namespace

Values::Values(const onnx::TensorProto& proto) : dims_(proto.dims().begin(), proto.dims().end()) {
  if (proto.data_type() == onnx::TensorProto::STRING) {
    dtype_ = "text";
    texts_.assign(proto.string_data().begin(), proto.string_data().end());
    if (texts_.size() != static_cast<std::size_t>(element_count(dims_)))
      throw Error(ErrorKind::model,
                  fmt::format("a tensor {} with {} texts", to_string(dims_), texts_.size()));
    return;
  }
  const Element& element = element_of(proto.data_type());
  dtype_ = element.name;
  element_bytes_ = element.bytes;
  bytes_ = proto.has_raw_data() ? proto.raw_data() : typed_bytes(proto, element_bytes_);
  if (element.packed_bits > 0) bytes_ = unpacked(element, bytes_, element_count(dims_));
  if (bytes_.size() != static_cast<std::size_t>(element_count(dims_)) * element_bytes_)
    throw Error(ErrorKind::model, fmt::format("a tensor {}{} with {} bytes", dtype_,
                                              to_string(dims_), bytes_.size()));
}

Values::Values(const onnx::TensorProto& proto, const onnx::ValueInfoProto& declared)
    : Values(proto) {
  if (declared.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16 && dtype_ == "u16")
    dtype_ = "bf16";
}

Values Values::ramp(Shape dims) {
  Values values;
  values.dtype_ = "f32";
  values.element_bytes_ = sizeof(float);
  values.dims_ = std::move(dims);
  const std::int64_t count = element_count(values.dims_);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(static_cast<double>(i) / static_cast<double>(count));
    values.bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return values;
}

long double Values::operator[](std::size_t index) const {
  if (dtype_ == "f32") return element<float>(bytes_, index);
  if (dtype_ == "f64") return element<double>(bytes_, index);
  if (dtype_ == "f16")
    return testing::half_value(DType::f16,
                               static_cast<std::uint16_t>(element<std::uint16_t>(bytes_, index)));
  if (dtype_ == "bf16")
    return testing::half_value(DType::bf16,
                               static_cast<std::uint16_t>(element<std::uint16_t>(bytes_, index)));
  if (dtype_ == "i4" || dtype_ == "i2") return element<std::int8_t>(bytes_, index);
  if (dtype_ == "u4" || dtype_ == "u2") return element<std::uint8_t>(bytes_, index);
  if (dtype_.starts_with("f8") || dtype_.starts_with("f4"))
    return reference::number_of_code(*parse_dtype(dtype_),
                                     static_cast<unsigned char>(bytes_[index]));
  if (dtype_ == "i8") return element<std::int8_t>(bytes_, index);
  if (dtype_ == "i16") return element<std::int16_t>(bytes_, index);
  if (dtype_ == "i32") return element<std::int32_t>(bytes_, index);
  if (dtype_ == "i64") return element<std::int64_t>(bytes_, index);
  if (dtype_ == "u8" || dtype_ == "bool") return element<std::uint8_t>(bytes_, index);
  if (dtype_ == "u16") return element<std::uint16_t>(bytes_, index);
  if (dtype_ == "u32") return element<std::uint32_t>(bytes_, index);
  if (dtype_ == "u64") return element<std::uint64_t>(bytes_, index);
  throw Error(ErrorKind::unsupported, fmt::format("numbers of dtype {} are not compared", dtype_));
}

Tensor Values::view() const {
  const std::optional<DType> dtype = parse_dtype(dtype_);
  if (!dtype) throw Error(ErrorKind::unsupported, fmt::format("there is no dtype {}", dtype_));
  return Tensor::view(*dtype, static_cast<const void*>(bytes_.data()), dims_);
}

Values Values::with(const void* data) const {
  Values values = *this;
  if (!bytes_.empty()) values.bytes_.assign(static_cast<const char*>(data), bytes_.size());
  return values;
}

std::optional<std::string> difference(const Values& expected, const Tensor& actual, double rtol,
                                      double atol) {
  if (name_of(actual.dtype()) != expected.dtype())
    return fmt::format("dtype {} instead of {}", name_of(actual.dtype()), expected.dtype());
  if (actual.shape() != expected.dims())
    return fmt::format("shape {} instead of {}", to_string(actual.shape()),
                       to_string(expected.dims()));
  const Values numbers = expected.with(actual.raw());
  const std::optional<DType> dtype = parse_dtype(expected.dtype());
  const bool exact = dtype == DType::boolean || (dtype && is_code(*dtype));
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (is_close(expected[i], numbers[i], exact ? 0 : rtol, exact ? 0 : atol)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ: element {} is {:.7g} instead of {:.7g}", wrong,
                     expected.size(), first, static_cast<double>(numbers[first]),
                     static_cast<double>(expected[first]));
}

std::optional<std::string> difference(const Values& expected,
                                      const std::vector<std::string>& actual, const Shape& shape) {
  if (shape != expected.dims())
    return fmt::format("shape {} instead of {}", to_string(shape), to_string(expected.dims()));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] != expected.texts()[i])
      return fmt::format("text {} is \"{}\" instead of \"{}\"", i, actual[i], expected.texts()[i]);
  }
  return std::nullopt;
}

}  // namespace dyn::conformance
