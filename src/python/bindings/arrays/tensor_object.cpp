#include "src/python/bindings/arrays/tensor_object.hpp"

#include <nanobind/stl/string.h>

#include "src/python/bindings/arrays/buffer_export.hpp"
#include "src/python/bindings/arrays/dlpack.hpp"
#include "src/python/bindings/arrays/dtypes.hpp"

namespace dyn::python {
namespace {

/// A dyn.Tensor over the tensor's memory.
nb::object wrapped(const Tensor& tensor) { return nb::cast(TensorObject(tensor)); }

nb::object array_over(nb::handle object, const Tensor& tensor, const nb::object& dtype) {
  // No guard: a thread that imports NumPy would hold it while others have the GIL.
  static const nb::object* make = nullptr;
  if (make == nullptr) make = new nb::object(nb::module_::import_("numpy").attr("ndarray"));
  return (*make)(to_python(tensor.shape()), dtype, object);
}

Shape to_shape(nb::handle sizes) {
  Shape shape;
  for (const nb::handle size : sizes) {
    const Py_ssize_t number = PyNumber_AsSsize_t(size.ptr(), PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    shape.push_back(number);
  }
  return shape;
}

/// Tensor(array): a view of memory that is dense.
void view_of(TensorObject* self, nb::handle array) {
  Given lent = given(array, {"the array", {}}, Layout::refuse, DType::f32);
  new (self) TensorObject(std::move(lent.tensor), std::move(lent.loan));
}

void zeroed(TensorObject* self, nb::handle dtype, nb::handle shape) {
  new (self) TensorObject(Tensor(to_dtype(dtype), to_shape(shape)));
}

nb::object at_address(nb::handle dtype, nb::handle shape, std::uint64_t address) {
  return wrapped(Tensor::view(to_dtype(dtype), reinterpret_cast<void*>(address), to_shape(shape)));
}

std::string tensor_repr(const TensorObject& self) {
  return "<dyn.Tensor " + std::string(name_of(self.tensor.dtype())) +
         to_string(self.tensor.shape()) + (self.tensor.writable() ? "" : ", read-only") + ">";
}

nb::object as_array(nb::handle self, nb::handle dtype, nb::handle copy) {
  const nb::object array = to_numpy(self);
  const bool copies = !copy.is_none() && nb::cast<bool>(nb::bool_(copy));
  if (dtype.is_none()) return copies ? array.attr("copy")() : array;
  return array.attr("astype")(dtype, nb::arg("copy") = copies);
}

}  // namespace

const TensorObject* tensor_of(nb::handle object) {
  if (!nb::isinstance<TensorObject>(object) || !nb::inst_ready(object)) return nullptr;
  return nb::inst_ptr<TensorObject>(object);
}

const TensorObject& known_tensor(nb::handle object) {
  const TensorObject* const own = tensor_of(object);
  if (own == nullptr) user_error("this dyn.Tensor was never initialised");
  return *own;
}

nb::object to_numpy(nb::handle tensor_object) {
  const Tensor& tensor = known_tensor(tensor_object).tensor;
  return array_over(tensor_object, tensor, numpy_dtype(tensor.dtype()));
}

nb::object to_array(const Tensor& tensor) {
  const nb::object object = wrapped(tensor);
  if (row_of(tensor.dtype()).buffer == nullptr) return object;
  return array_over(object, tensor, numpy_dtype(tensor.dtype()));
}

nb::object to_python(const Shape& shape) {
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (tuple == nullptr) throw nb::python_error();
  const nb::object owned = nb::steal(tuple);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    PyObject* const size = PyLong_FromLongLong(shape[i]);
    if (size == nullptr || PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), size) != 0)
      throw nb::python_error();
  }
  return owned;
}

void register_tensor(nb::module_& module) {
  nb::class_<TensorObject>(
      module, "Tensor", nb::type_slots(buffer_slots()),
      "A dense row-major tensor on the host. NumPy (numpy.asarray, numpy.from_dlpack) and every\n"
      "library that speaks DLPack or the buffer protocol see its memory without a copy.")
      .def("__init__", view_of, nb::arg("array").none(),
           nb::sig("def __init__(self, array: object, /) -> None"),
           "A view of the array's memory, which must be dense, and which the tensor keeps.")
      .def("__init__", zeroed, nb::arg("dtype").none(), nb::arg("shape"),
           nb::sig("def __init__(self, dtype: object, shape: collections.abc.Sequence[int]) -> "
                   "None"),
           "New memory, aligned to 64 bytes, zeroed. dtype: \"bf16\", \"float32\", numpy.int64.")
      .def_static("_at_address", at_address, nb::arg("dtype"), nb::arg("shape"), nb::arg("address"),
                  nb::sig("def _at_address(dtype: object, shape: collections.abc.Sequence[int], "
                          "address: int) -> Tensor"),
                  "A view of memory that must stay as long as it is used.")
      .def_prop_ro(
          "dtype", [](const TensorObject& self) { return to_python(name_of(self.tensor.dtype())); },
          nb::sig("def dtype(self) -> str"), "dyn's name: \"f32\", \"bf16\", \"i64\", ...")
      .def_prop_ro(
          "shape", [](const TensorObject& self) { return to_python(self.tensor.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("nbytes", [](const TensorObject& self) { return self.tensor.bytes(); })
      .def_prop_ro(
          "address",
          [](const TensorObject& self) {
            return reinterpret_cast<std::uint64_t>(self.tensor.raw());
          },
          "The address of the first element.")
      // Before numpy(), whose name hides the module's in the stub.
      .def("__array__", as_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: object | None = None, copy: bool | None = None) -> "
                   "numpy.typing.NDArray[typing.Any]"))
      .def(
          "numpy", [](nb::handle self) { return to_numpy(self); },
          nb::sig("def numpy(self) -> numpy.typing.NDArray[typing.Any]"),
          "An array over the same memory. dtypes that NumPy lacks are those of the package\n"
          "ml_dtypes; UnsupportedError where that is not installed.")
      .def(
          "__dlpack__",
          [](nb::handle self, nb::handle /*stream*/, nb::handle max_version, nb::handle dl_device,
             nb::handle copy) { return to_dlpack(self, max_version, dl_device, copy); },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig("def __dlpack__(self, *, stream: object | None = None, max_version: tuple[int, "
                  "int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None "
                  "= None) -> object"))
      .def(
          "__dlpack_device__", [](const TensorObject&) { return nb::make_tuple(dlpack::cpu, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__repr__", tensor_repr);
}

}  // namespace dyn::python
