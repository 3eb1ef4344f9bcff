#include "src/import/onnx/reader/tensor.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"

namespace dyn::onnx {
namespace {

std::string about(const TensorProto& proto, const std::string& message) {
  return fmt::format("the tensor {}: {}", proto.name().empty() ? "without a name" : proto.name(),
                     message);
}

[[noreturn]] void fail(const TensorProto& proto, const std::string& message) {
  throw Error(ErrorKind::model, about(proto, message));
}

/// Bytes of so many elements in a file, which packs those of less than a byte.
std::int64_t packed_bytes(DType dtype, std::int64_t bytes) {
  const int bits = graph::packed_bits(dtype);
  if (bits == 0) return bytes;
  const std::int64_t in_a_byte = 8 / bits;
  return bytes / in_a_byte + (bytes % in_a_byte != 0 ? 1 : 0);
}

/// One byte for each element, of those that a file packs from the lowest bits on.
std::string unpacked(DType dtype, const std::string& packed, std::int64_t elements) {
  const int bits = graph::packed_bits(dtype);
  const std::int64_t in_a_byte = 8 / bits;
  std::string bytes;
  bytes.reserve(packed.size() * static_cast<std::size_t>(in_a_byte));
  for (std::int64_t i = 0; i < elements; ++i) {
    const int code = static_cast<unsigned char>(packed[static_cast<std::size_t>(i / in_a_byte)]) >>
                     (static_cast<int>(i % in_a_byte) * bits);
    bytes +=
        static_cast<char>(dtype == DType::f4e2m1 ? code & 15 : graph::code_of_integer(dtype, code));
  }
  return bytes;
}

std::int64_t bytes_of(const TensorProto& proto, const Tensor& tensor) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) fail(proto, fmt::format("a dim is {}", dim));
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      fail(proto, "its dims have a product beyond 64 bits");
  }
  return bytes;
}

/// The location of an external tensor's bytes.
struct Place {
  std::string file;
  std::uint64_t offset = 0, length = 0;
  bool has_length = false;
};

std::uint64_t number(const TensorProto& proto, const StringStringEntryProto& entry) {
  std::size_t used = 0;
  try {
    const std::uint64_t value = std::stoull(entry.value(), &used);
    if (used == entry.value().size() && entry.value().front() != '-') return value;
  } catch (const std::exception&) {}
  fail(proto,
       fmt::format("its {} is \"{}\", which is no number of bytes", entry.key(), entry.value()));
}

Place place_of(const TensorProto& proto) {
  Place place;
  for (const StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") place.file = entry.value();
    if (entry.key() == "offset") place.offset = number(proto, entry);
    if (entry.key() == "length") {
      place.length = number(proto, entry);
      place.has_length = true;
    }
  }
  return place;
}

std::string read_external(const TensorProto& proto, ModelFiles& files, std::uint64_t bytes) {
  const Place place = place_of(proto);
  if (place.has_length && place.length != bytes)
    fail(proto,
         fmt::format("it has {} bytes in another file, but its dims need {}", place.length, bytes));
  try {
    return files.bytes_of(place.file, place.offset, bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), about(proto, error.message()), error.where());
  }
}

template <class To, class Field>
std::string packed(const TensorProto& proto, const Field& field, std::int64_t elements) {
  if (field.size() != elements)
    fail(proto, fmt::format("it has {} elements, but its dims need {}", field.size(), elements));
  std::string bytes(static_cast<std::size_t>(elements) * sizeof(To), '\0');
  for (std::int64_t i = 0; i < elements; ++i) {
    const To element = static_cast<To>(field.Get(static_cast<int>(i)));
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(To), &element, sizeof(To));
  }
  return bytes;
}

/// onnx.proto says which field holds which dtype; 16-bit floats are there as their bits.
std::string typed_data(const TensorProto& proto, DType dtype, std::int64_t elements) {
  std::string bytes;
  const bool is_packed = graph::with_element_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float>)
      bytes = packed<T>(proto, proto.float_data(), elements);
    else if constexpr (std::is_same_v<T, double>)
      bytes = packed<T>(proto, proto.double_data(), elements);
    else if constexpr (std::is_same_v<T, std::int64_t>)
      bytes = packed<T>(proto, proto.int64_data(), elements);
    else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::uint32_t>)
      bytes = packed<T>(proto, proto.uint64_data(), elements);
    else
      bytes = packed<T>(proto, proto.int32_data(), elements);
  });
  return is_packed ? bytes : packed<std::uint16_t>(proto, proto.int32_data(), elements);
}

template <class To>
std::vector<To> elements_of(const Tensor& tensor) {
  std::vector<To> values(static_cast<std::size_t>(tensor.elements()));
  const bool is_read = for_each_element(
      tensor, [&](std::size_t i, auto element) { values[i] = static_cast<To>(element); });
  for (std::size_t i = 0; !is_read && i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i * sizeof bits, sizeof bits);
    values[i] = static_cast<To>(graph::float_of_code(tensor.dtype, bits));
  }
  return values;
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

DType dtype_of(std::int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT: return DType::f32;
    case TensorProto::FLOAT16: return DType::f16;
    case TensorProto::BFLOAT16: return DType::bf16;
    case TensorProto::DOUBLE: return DType::f64;
    case TensorProto::INT8: return DType::i8;
    case TensorProto::INT16: return DType::i16;
    case TensorProto::INT32: return DType::i32;
    case TensorProto::INT64: return DType::i64;
    case TensorProto::UINT8: return DType::u8;
    case TensorProto::UINT16: return DType::u16;
    case TensorProto::UINT32: return DType::u32;
    case TensorProto::UINT64: return DType::u64;
    case TensorProto::BOOL: return DType::boolean;
    case TensorProto::FLOAT8E4M3FN: return DType::f8e4m3fn;
    case TensorProto::FLOAT8E4M3FNUZ: return DType::f8e4m3fnuz;
    case TensorProto::FLOAT8E5M2: return DType::f8e5m2;
    case TensorProto::FLOAT8E5M2FNUZ: return DType::f8e5m2fnuz;
    case TensorProto::FLOAT8E8M0: return DType::f8e8m0;
    case TensorProto::FLOAT4E2M1: return DType::f4e2m1;
    case TensorProto::INT4: return DType::i4;
    case TensorProto::UINT4: return DType::u4;
    case TensorProto::INT2: return DType::i2;
    case TensorProto::UINT2: return DType::u2;
    default: break;
  }
  const std::string name =
      TensorProto::DataType_IsValid(data_type)
          ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(data_type))
          : std::to_string(data_type);
  throw Error(ErrorKind::unsupported, fmt::format("the dtype {} is not supported", name));
}

DType dtype_named(const std::string& name) {
  TensorProto::DataType data_type = TensorProto::UNDEFINED;
  if (!TensorProto::DataType_Parse(name, &data_type))
    throw Error(ErrorKind::model, fmt::format("there is no dtype {}", name));
  return dtype_of(data_type);
}

Tensor take_tensor(TensorProto& proto, ModelFiles& files) {
  static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");
  Tensor tensor;
  try {
    tensor.dtype = dtype_of(proto.data_type());
  } catch (const Error& error) { throw error.within("the tensor " + proto.name()); }
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  const std::int64_t in_memory = bytes_of(proto, tensor),
                     elements = in_memory / static_cast<std::int64_t>(size_of(tensor.dtype)),
                     bytes = packed_bytes(tensor.dtype, in_memory);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    tensor.bytes = read_external(proto, files, static_cast<std::uint64_t>(bytes));
  } else if (proto.has_raw_data()) {
    if (static_cast<std::int64_t>(proto.raw_data().size()) != bytes)
      fail(proto,
           fmt::format("it has {} bytes, but its dims need {}", proto.raw_data().size(), bytes));
    tensor.bytes = std::move(*proto.mutable_raw_data());
    proto.clear_raw_data();
  } else {
    tensor.bytes =
        typed_data(proto, tensor.dtype, bytes / static_cast<std::int64_t>(size_of(tensor.dtype)));
    // A field that is only cleared would keep its memory.
    *proto.mutable_float_data() = {};
    *proto.mutable_int32_data() = {};
    *proto.mutable_int64_data() = {};
    *proto.mutable_double_data() = {};
    *proto.mutable_uint64_data() = {};
  }
  if (graph::packed_bits(tensor.dtype) > 0)
    tensor.bytes = unpacked(tensor.dtype, tensor.bytes, elements);
  return tensor;
}

std::optional<std::string> external_place(const TensorProto& proto) {
  if (proto.data_location() != TensorProto::EXTERNAL) return std::nullopt;
  const Place place = place_of(proto);
  return fmt::format("{} [{}] {} {} {}", proto.data_type(), fmt::join(proto.dims(), ","),
                     place.offset, place.has_length ? fmt::to_string(place.length) : "",
                     place.file);
}

std::vector<double> numbers_of(const Tensor& tensor) { return elements_of<double>(tensor); }

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  return elements_of<std::int64_t>(tensor);
}

}  // namespace dyn::onnx
