#include "src/python/bindings/arrays/dlpack_import.hpp"

#include <utility>

#include "src/python/bindings/arrays/dlpack.hpp"
#include "src/python/bindings/arrays/strided.hpp"

namespace dyn::python {
namespace {

constexpr std::int32_t most_dims = 64;  ///< NumPy's own limit

template <class Managed>
class DlpackLoan : public Loan {
 public:
  explicit DlpackLoan(Managed* managed) : managed_(managed) {}
  ~DlpackLoan() override {
    const nb::error_scope own_error;  // the deleter may be Python's
    if (managed_->deleter != nullptr) managed_->deleter(managed_);
  }

 private:
  Managed* managed_;
};

const char* dlpack_device_name(std::int32_t type) {
  switch (type) {
    case 2: return "CUDA";
    case 4: return "OpenCL";
    case 7: return "Vulkan";
    case 8: return "Metal";
    case 10: return "ROCm";
    case 13: return "managed CUDA memory";
    case 14: return "oneAPI";
    case 15: return "WebGPU";
    default: return nullptr;
  }
}

void check_device(const dlpack::Device& device, const Role& role) {
  if (device.type == dlpack::cpu || device.type == dlpack::cuda_host) return;
  const char* const name = dlpack_device_name(device.type);
  user_error(role.text() + " is on device " + std::to_string(device.id) + " of DLPack's type " +
             std::to_string(device.type) + (name != nullptr ? " (" + std::string(name) + ")" : "") +
             ", but dyn's Python takes what is on the host; copy it to the CPU first");
}

Strided strided_of_dlpack(const dlpack::Tensor& tensor, bool writable, const Role& role) {
  check_device(tensor.device, role);
  const auto dtype = dtype_of_dlpack(tensor.dtype);
  if (!dtype)
    user_error(role.text() + " has elements of DLPack's type " + std::to_string(tensor.dtype.code) +
               " with " + std::to_string(tensor.dtype.bits) + " bits and " +
               std::to_string(tensor.dtype.lanes) + " lanes, which is no dtype of dyn");
  if (tensor.ndim < 0 || tensor.ndim > most_dims || (tensor.ndim > 0 && tensor.shape == nullptr))
    user_error(role.text() + " comes through DLPack without a shape, or with more than " +
               std::to_string(most_dims) + " dims");
  Strided strided{static_cast<std::byte*>(tensor.data), *dtype, {}, {}, writable};
  if (tensor.data != nullptr)
    strided.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  for (std::int32_t i = 0; i < tensor.ndim; ++i) {
    strided.shape.push_back(tensor.shape[i]);
    if (tensor.strides != nullptr)
      strided.strides.push_back(tensor.strides[i] * static_cast<std::int64_t>(size_of(*dtype)));
  }
  element_count(strided.shape);  // throws where a size is negative
  return strided;
}

/// The capsule's contents are the loan's from here on.
template <class Managed>
std::unique_ptr<Loan> take(nb::handle capsule, Managed* managed, const char* used_name) {
  auto loan = std::make_unique<DlpackLoan<Managed>>(managed);
  if (PyCapsule_SetName(capsule.ptr(), used_name) != 0) throw nb::python_error();
  return loan;
}

Given from_capsule(nb::handle capsule, const Role& role, Layout layout) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    auto* const managed = static_cast<dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != dlpack::major_version)
      user_error(role.text() + " comes in DLPack's version " + std::to_string(managed->major) +
                 "." + std::to_string(managed->minor) + ", of which dyn knows 1 alone");
    auto loan = take(capsule, managed, "used_dltensor_versioned");
    const bool writable = (managed->flags & dlpack::read_only) == 0;
    return to_given(strided_of_dlpack(managed->tensor, writable, role), std::move(loan), role,
                    layout);
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0) {
    auto* const managed =
        static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    auto loan = take(capsule, managed, "used_dltensor");
    return to_given(strided_of_dlpack(managed->tensor, true, role), std::move(loan), role, layout);
  }
  user_error(role.text() + " gives no capsule of DLPack that nobody has used yet, but " +
             described(capsule));
}

/// Producers from before DLPack 1.0 know no version.
nb::object capsule_of(nb::handle object) {
  const nb::object method = object.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(dlpack::major_version, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

/// Asked first: an export from a device may begin with a copy there, or wait for its work.
void check_device_of(nb::handle object, const Role& role) {
  if (!nb::hasattr(object, "__dlpack_device__")) return;
  const nb::object device = object.attr("__dlpack_device__")();
  const auto number = [&](int i) {
    return static_cast<std::int32_t>(nb::cast<std::int64_t>(nb::int_(device[i])));
  };
  check_device({number(0), number(1)}, role);
}

}  // namespace

Given from_dlpack(nb::handle object, const Role& role, Layout layout) {
  nb::object capsule;
  try {
    check_device_of(object, role);
    capsule = capsule_of(object);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // such as KeyboardInterrupt
    user_error(role.text() + " is " + described(object) +
               " that DLPack cannot pass on: " + message_of(error));
  }
  return from_capsule(capsule, role, layout);
}

}  // namespace dyn::python
