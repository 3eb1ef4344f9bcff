#pragma once
// The element types of dyn, of NumPy, of the buffer protocol and of DLPack.

#include <cstdint>
#include <optional>
#include <string_view>

#include "dyn/dtype.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

struct DlpackDType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DTypeRow {
  DType dtype;
  const char* numpy;   ///< NumPy's name, or that of the package ml_dtypes
  const char* buffer;  ///< the buffer protocol's format; nullptr: it has none, and so has NumPy
  DlpackDType dlpack;  ///< 0 bits: none whose element takes one byte
};

const DTypeRow& row_of(DType dtype);
std::optional<DType> dtype_of_numpy(std::string_view name);
/// `format` as a buffer gives it, nullptr included. Nothing for other byte orders and for structs.
std::optional<DType> dtype_of_format(const char* format, std::size_t item_bytes);
std::optional<DType> dtype_of_dlpack(DlpackDType dtype);

/// NumPy's dtype. Throws Error(unsupported) where it is one of ml_dtypes, and that is missing.
nb::object numpy_dtype(DType dtype);

/// From dyn's name ("bf16"), NumPy's ("bfloat16"), or whatever numpy.dtype() takes. Throws
/// Error(user).
DType to_dtype(nb::handle name);

}  // namespace dyn::python
