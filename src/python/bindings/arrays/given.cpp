#include "src/python/bindings/arrays/given.hpp"

#include <optional>
#include <utility>

#include "src/python/bindings/arrays/dlpack_import.hpp"
#include "src/python/bindings/arrays/dtypes.hpp"
#include "src/python/bindings/arrays/strided.hpp"
#include "src/python/bindings/arrays/tensor_object.hpp"

namespace dyn::python {
namespace {

class BufferLoan : public Loan {
 public:
  /// False where the object has no such buffer; Python's error is cleared.
  bool take(nb::handle object) {
    taken_ = PyObject_GetBuffer(object.ptr(), &view_, PyBUF_RECORDS_RO) == 0;
    if (!taken_) PyErr_Clear();
    return taken_;
  }
  ~BufferLoan() override {
    const nb::error_scope own_error;  // what lends may be Python's
    if (taken_) PyBuffer_Release(&view_);
  }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_{};
  bool taken_ = false;
};

class ObjectLoan : public Loan {
 public:
  explicit ObjectLoan(nb::object object) : object_(std::move(object)) {}

 private:
  nb::object object_;
};

[[noreturn]] void refuse_elements(nb::handle object, const Role& role, const char* format) {
  const std::string elements = nb::hasattr(object, "dtype")
                                   ? text_of(object.attr("dtype"))
                                   : std::string(format == nullptr ? "" : format);
  user_error(role.text() + " has elements of '" + elements +
             "', which is no dtype of dyn, or has another byte order than this machine");
}

Strided strided_of_buffer(const Py_buffer& view, DType dtype) {
  Strided strided{view.buf, dtype, {}, {}, view.readonly == 0};
  const auto rank = static_cast<std::size_t>(view.ndim);
  if (view.shape != nullptr)
    strided.shape.assign(view.shape, view.shape + rank);
  else
    strided.shape.assign(1, view.len / view.itemsize);
  if (view.strides != nullptr) strided.strides.assign(view.strides, view.strides + rank);
  return strided;
}

std::optional<Given> from_buffer(nb::handle object, const Role& role, Layout layout) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return std::nullopt;
  auto loan = std::make_unique<BufferLoan>();
  if (!loan->take(object)) return std::nullopt;
  const Py_buffer& view = loan->view();
  const auto dtype = dtype_of_format(view.format, static_cast<std::size_t>(view.itemsize));
  if (!dtype || size_of(*dtype) != static_cast<std::size_t>(view.itemsize))
    refuse_elements(object, role, view.format);
  const Strided strided = strided_of_buffer(view, *dtype);
  return to_given(strided, std::move(loan), role, layout);
}

/// An array of the package ml_dtypes, which has no buffer: seen as codes.
std::optional<Given> from_codes(nb::handle object, const Role& role, Layout layout) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "view")) return std::nullopt;
  const nb::object name = nb::getattr(object.attr("dtype"), "name", nb::none());
  if (PyUnicode_Check(name.ptr()) == 0) return std::nullopt;
  const auto dtype = dtype_of_numpy(to_utf8(name));
  if (!dtype || row_of(*dtype).buffer != nullptr) return std::nullopt;
  const nb::object codes = object.attr("view")(size_of(*dtype) == 2 ? "uint16" : "uint8");
  auto loan = std::make_unique<BufferLoan>();
  if (!loan->take(codes)) return std::nullopt;
  const Strided strided = strided_of_buffer(loan->view(), *dtype);
  return to_given(strided, std::move(loan), role, layout);
}

bool is_plain(nb::handle object) {
  PyObject* const own = object.ptr();
  return PyList_Check(own) != 0 || PyTuple_Check(own) != 0 || PyLong_Check(own) != 0 ||
         PyFloat_Check(own) != 0;
}

/// Lists and numbers: an int may become a float, but no float an int.
Given from_plain(nb::handle object, const Role& role, DType wanted) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object dtype = numpy_dtype(wanted);
  try {
    const nb::object found = numpy.attr("asarray")(object);
    if (!nb::cast<bool>(numpy.attr("can_cast")(found.attr("dtype"), dtype, "same_kind")) &&
        nb::cast<std::size_t>(found.attr("size")) > 0)
      user_error(role.text() + " is " + described(object) + " of " + text_of(found.attr("dtype")) +
                 ", but the model's is " + std::string(name_of(wanted)));
    const nb::object array = numpy.attr("array")(object, dtype);
    return given(array, role, Layout::copy, wanted);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // such as KeyboardInterrupt
    user_error(role.text() + " is " + described(object) +
               " that NumPy makes no array of: " + message_of(error));
  }
}

[[noreturn]] void refuse_object(nb::handle object, const Role& role) {
  user_error(role.text() + " is " + described(object) +
             ", which is no array: give one of NumPy, or anything that speaks DLPack or the "
             "buffer protocol");
}

}  // namespace

std::string Role::text() const {
  return name.empty() ? what : std::string(what) + " '" + std::string(name) + "'";
}

Given given(nb::handle object, const Role& role, Layout layout, DType wanted) {
  if (auto lent = from_buffer(object, role, layout)) return std::move(*lent);
  if (const TensorObject* own = tensor_of(object))
    return {own->tensor, std::make_unique<ObjectLoan>(nb::borrow(object))};
  if (object.is_none()) refuse_object(object, role);
  if (auto codes = from_codes(object, role, layout)) return std::move(*codes);
  if (nb::hasattr(object, "__dlpack__")) return from_dlpack(object, role, layout);
  if (layout == Layout::refuse) refuse_object(object, role);
  if (is_plain(object)) return from_plain(object, role, wanted);
  if (!nb::hasattr(object, "__array__")) refuse_object(object, role);
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
  if (!array.is(object) && PyObject_CheckBuffer(array.ptr()) != 0)
    if (auto lent = from_buffer(array, role, layout)) return std::move(*lent);
  refuse_object(object, role);
}

}  // namespace dyn::python
