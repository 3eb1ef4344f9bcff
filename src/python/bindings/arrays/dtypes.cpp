#include "src/python/bindings/arrays/dtypes.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "dyn/error.hpp"

namespace dyn::python {
namespace {

enum DlpackCode : std::uint8_t {
  dl_int = 0,
  dl_uint = 1,
  dl_float = 2,
  dl_bfloat = 4,
  dl_bool = 6,
  dl_f8e4m3fn = 10,
  dl_f8e4m3fnuz = 11,
  dl_f8e5m2 = 12,
  dl_f8e5m2fnuz = 13,
  dl_f8e8m0fnu = 14
};

/// In the order of DType. DLPack packs codes of less than a byte; dyn does not.
constexpr std::array<DTypeRow, 23> dtype_rows = {{
    {DType::f32, "float32", "f", {dl_float, 32, 1}},
    {DType::f16, "float16", "e", {dl_float, 16, 1}},
    {DType::bf16, "bfloat16", nullptr, {dl_bfloat, 16, 1}},
    {DType::f64, "float64", "d", {dl_float, 64, 1}},
    {DType::i8, "int8", "b", {dl_int, 8, 1}},
    {DType::i16, "int16", "h", {dl_int, 16, 1}},
    {DType::i32, "int32", "i", {dl_int, 32, 1}},
    {DType::i64, "int64", "q", {dl_int, 64, 1}},
    {DType::u8, "uint8", "B", {dl_uint, 8, 1}},
    {DType::u16, "uint16", "H", {dl_uint, 16, 1}},
    {DType::u32, "uint32", "I", {dl_uint, 32, 1}},
    {DType::u64, "uint64", "Q", {dl_uint, 64, 1}},
    {DType::boolean, "bool", "?", {dl_bool, 8, 1}},
    {DType::f8e4m3fn, "float8_e4m3fn", nullptr, {dl_f8e4m3fn, 8, 1}},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", nullptr, {dl_f8e4m3fnuz, 8, 1}},
    {DType::f8e5m2, "float8_e5m2", nullptr, {dl_f8e5m2, 8, 1}},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", nullptr, {dl_f8e5m2fnuz, 8, 1}},
    {DType::f8e8m0, "float8_e8m0fnu", nullptr, {dl_f8e8m0fnu, 8, 1}},
    {DType::f4e2m1, "float4_e2m1fn", nullptr, {0, 0, 0}},
    {DType::i4, "int4", nullptr, {0, 0, 0}},
    {DType::u4, "uint4", nullptr, {0, 0, 0}},
    {DType::i2, "int2", nullptr, {0, 0, 0}},
    {DType::u2, "uint2", nullptr, {0, 0, 0}},
}};

constexpr bool dtype_rows_are_in_order() {
  for (std::size_t i = 0; i < dtype_rows.size(); ++i)
    if (static_cast<std::size_t>(dtype_rows[i].dtype) != i) return false;
  return true;
}
static_assert(dtype_rows_are_in_order());

constexpr bool is_little_endian = std::endian::native == std::endian::little;

nb::object find_numpy_dtype(const DTypeRow& row) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (row.buffer != nullptr) return numpy.attr("dtype")(row.numpy);
  try {
    return numpy.attr("dtype")(nb::module_::import_("ml_dtypes").attr(row.numpy));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
  }
  throw Error(ErrorKind::unsupported,
              "NumPy has no " + std::string(name_of(row.dtype)) +
                  "; install the package ml_dtypes, or read the dyn.Tensor through DLPack");
}

}  // namespace

const DTypeRow& row_of(DType dtype) { return dtype_rows[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_of_numpy(std::string_view name) {
  for (const DTypeRow& row : dtype_rows)
    if (name == row.numpy) return row.dtype;
  return std::nullopt;
}

std::optional<DType> dtype_of_format(const char* format, std::size_t item_bytes) {
  if (format == nullptr) return DType::u8;
  if (*format == '@' || *format == '=' || *format == (is_little_endian ? '<' : '>') ||
      (item_bytes == 1 && std::strchr("<>!|", *format) != nullptr && *format != '\0'))
    ++format;
  if (*format == '\0' || format[1] != '\0') return std::nullopt;
  // Integers of one size have several letters.
  const bool is_signed = std::strchr("bhilqn", *format) != nullptr;
  if (is_signed || std::strchr("BHILQN", *format) != nullptr) {
    for (const DTypeRow& row : dtype_rows)
      if (is_integer(row.dtype) && is_unsigned(row.dtype) != is_signed &&
          size_of(row.dtype) == item_bytes)
        return row.dtype;
    return std::nullopt;
  }
  for (const DTypeRow& row : dtype_rows)
    if (row.buffer != nullptr && *row.buffer == *format) return row.dtype;
  return std::nullopt;
}

std::optional<DType> dtype_of_dlpack(DlpackDType dtype) {
  for (const DTypeRow& row : dtype_rows)
    if (row.dlpack.bits != 0 && row.dlpack.code == dtype.code && row.dlpack.bits == dtype.bits &&
        dtype.lanes == 1)
      return row.dtype;
  return std::nullopt;
}

nb::object numpy_dtype(DType dtype) {
  // Never freed: the interpreter may be gone before the module's data.
  static auto* const found = new std::array<nb::object, dtype_rows.size()>();
  nb::object& own = (*found)[static_cast<std::size_t>(dtype)];
  if (!own.is_valid()) own = find_numpy_dtype(row_of(dtype));
  return own;
}

DType to_dtype(nb::handle name) {
  std::string text;
  if (PyUnicode_Check(name.ptr())) {
    text = to_utf8(name);
    if (const auto dtype = parse_dtype(text)) return *dtype;
    if (const auto dtype = dtype_of_numpy(text)) return *dtype;
  } else if (!name.is_none()) {
    try {
      text = text_of(nb::module_::import_("numpy").attr("dtype")(name).attr("name"));
      if (const auto dtype = dtype_of_numpy(text)) return *dtype;
    } catch (nb::python_error&) { text.clear(); }  // no dtype at all
  }
  std::string known;
  for (const DType dtype : all_dtypes())
    known += (known.empty() ? "" : ", ") + std::string(name_of(dtype));
  user_error("there is no dtype " + to_utf8(nb::repr(name)) + "; there are " + known);
}

}  // namespace dyn::python
