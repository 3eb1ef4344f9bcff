#include "src/python/bindings/arrays/buffer_export.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/python/bindings/arrays/dlpack.hpp"
#include "src/python/bindings/arrays/tensor_object.hpp"
#include "src/python/bindings/gil.hpp"

namespace dyn::python {
namespace {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

int refuse_buffer(Py_buffer* view, const std::string& message) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, message.c_str());
  return -1;
}

std::vector<std::int64_t> dense_strides(const Shape& shape, std::int64_t item) {
  std::vector<std::int64_t> strides(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = item;
    item *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

/// The view's `internal` has the strides, until it is released.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const TensorObject* const own = tensor_of(self);
  if (own == nullptr) return refuse_buffer(view, "this dyn.Tensor was never initialised");
  const Tensor& tensor = own->tensor;
  const DTypeRow& row = row_of(tensor.dtype());
  if ((flags & PyBUF_WRITABLE) != 0 && !tensor.writable())
    return refuse_buffer(view, "this dyn.Tensor is a read-only view");
  if ((flags & PyBUF_FORMAT) != 0 && row.buffer == nullptr)
    return refuse_buffer(view, "the buffer protocol has no " +
                                   std::string(name_of(tensor.dtype())) +
                                   "; use numpy() with the package ml_dtypes, or DLPack");
  const bool has_shape = (flags & PyBUF_ND) != 0;
  const bool has_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  auto* const shape = const_cast<std::int64_t*>(tensor.shape().data());
  view->buf = const_cast<void*>(tensor.raw());
  view->len = static_cast<Py_ssize_t>(tensor.bytes());
  view->itemsize = static_cast<Py_ssize_t>(size_of(tensor.dtype()));
  view->readonly = tensor.writable() ? 0 : 1;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(row.buffer) : nullptr;
  view->ndim = has_shape ? static_cast<int>(tensor.shape().size()) : 1;
  view->shape = has_shape ? reinterpret_cast<Py_ssize_t*>(shape) : nullptr;
  view->strides = nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  if (has_strides) {
    auto strides =
        std::make_unique<std::vector<std::int64_t>>(dense_strides(tensor.shape(), view->itemsize));
    view->strides = reinterpret_cast<Py_ssize_t*>(strides->data());
    view->internal = strides.release();
  }
  view->obj = self;
  Py_INCREF(self);
  return 0;
}

void release_buffer(PyObject* /*self*/, Py_buffer* view) {
  delete static_cast<std::vector<std::int64_t>*>(view->internal);
  view->internal = nullptr;
}

/// The tensor of a consumer of DLPack.
template <class Managed>
struct Exported {
  Tensor tensor;
  PyObject* keeper;  ///< of memory that another Python object lends; nullptr: none
  std::vector<std::int64_t> strides;
  Managed managed;
};

/// May be called by any thread. After the interpreter's end the keeper is nobody's.
template <class Managed>
void release(Managed* managed) {
  auto* const exported = static_cast<Exported<Managed>*>(managed->context);
  if (exported->keeper != nullptr && Py_IsInitialized() != 0) {
    const WithGil gil;
    const nb::error_scope own_error;
    Py_DECREF(exported->keeper);
  }
  delete exported;
}

template <class Managed>
constexpr const char* capsule_name = "dltensor";
template <>
constexpr const char* capsule_name<dlpack::ManagedVersioned> = "dltensor_versioned";

template <class Managed>
void release_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, capsule_name<Managed>) == 0) return;  // somebody took it
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, capsule_name<Managed>));
  managed->deleter(managed);
}

template <class Managed>
nb::object export_as(const Tensor& tensor, PyObject* keeper, bool is_copy) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->tensor = tensor;
  exported->strides = dense_strides(tensor.shape(), 1);
  Managed& managed = exported->managed;
  managed.context = exported.get();
  managed.deleter = release<Managed>;
  if constexpr (std::is_same_v<Managed, dlpack::ManagedVersioned>) {
    constexpr std::uint64_t copied = 2;
    managed.major = dlpack::major_version;
    managed.minor = 0;
    managed.flags = (tensor.writable() ? 0 : dlpack::read_only) | (is_copy ? copied : 0);
  }
  const Shape& shape = exported->tensor.shape();
  managed.tensor = {exported->tensor.raw(),
                    {dlpack::cpu, 0},
                    static_cast<std::int32_t>(shape.size()),
                    row_of(tensor.dtype()).dlpack,
                    const_cast<std::int64_t*>(shape.data()),
                    exported->strides.data(),
                    0};
  PyObject* const capsule =
      PyCapsule_New(&managed, capsule_name<Managed>, release_capsule<Managed>);
  if (capsule == nullptr) throw nb::python_error();
  Py_XINCREF(keeper);
  exported.release()->keeper = keeper;
  return nb::steal(capsule);
}

[[noreturn]] void refuse_export(const std::string& message) {
  throw nb::buffer_error(message.c_str());
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) std::memcpy(copy.raw(), tensor.raw(), tensor.bytes());
  return copy;
}

}  // namespace

const PyType_Slot* buffer_slots() {
  static const PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
      {0, nullptr}};
  return slots;
}

nb::object to_dlpack(nb::handle self, nb::handle max_version, nb::handle device, nb::handle copy) {
  const TensorObject& own = known_tensor(self);
  const Tensor& tensor = own.tensor;
  if (row_of(tensor.dtype()).dlpack.bits == 0)
    refuse_export("DLPack has no " + std::string(name_of(tensor.dtype())) +
                  " in bytes of their own");
  if (!device.is_none() && nb::cast<std::int64_t>(nb::int_(device[0])) != dlpack::cpu)
    refuse_export("a dyn.Tensor is on the host, and is not copied to another device");
  const bool copies = !copy.is_none() && nb::cast<bool>(nb::bool_(copy));
  const bool is_versioned =
      !max_version.is_none() && nb::cast<std::int64_t>(nb::int_(max_version[0])) >= 1;
  if (!is_versioned && !tensor.writable() && !copies)
    refuse_export("this dyn.Tensor is a read-only view, which DLPack can say from version 1 on");
  const Tensor given = copies ? copy_of(tensor) : tensor;
  PyObject* const keeper = own.loan != nullptr && !copies ? self.ptr() : nullptr;
  return is_versioned ? export_as<dlpack::ManagedVersioned>(given, keeper, copies)
                      : export_as<dlpack::Managed>(given, keeper, copies);
}

}  // namespace dyn::python
