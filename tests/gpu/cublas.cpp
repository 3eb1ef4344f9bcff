#include "tests/gpu/cublas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "dyn/error.hpp"

namespace dyn::gpu_check {
namespace {

// Values of cublas_api.h and library_types.h.
constexpr int no_transpose = 0, type_f32 = 0, type_bf16 = 14, compute_f32 = 68,
              default_algorithm = -1;

}  // namespace

std::unique_ptr<Cublas> Cublas::open(const std::string& name, ptx::cuda::StreamHandle stream,
                                     std::string& why) {
  std::unique_ptr<Cublas> made(new Cublas);
  // A toolkit has the plain name, a machine that only runs programs has the one with the version.
  for (const char* version : {"", ".13", ".12", ".11"}) {
    if (made->library_ == nullptr)
      made->library_ = dlopen((name + version).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (made->library_ == nullptr) {
    why = dlerror();
    return nullptr;
  }
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(made->library_, symbol));
    if (function == nullptr) why = name + " lacks " + symbol;
    return function != nullptr;
  };
  const bool all =
      find(made->create_, "cublasCreate_v2") && find(made->destroy_, "cublasDestroy_v2") &&
      find(made->set_stream_, "cublasSetStream_v2") &&
      find(made->get_version_, "cublasGetVersion_v2") && find(made->gemm_, "cublasGemmEx");
  if (!all) return nullptr;
  const Status status = made->create_(&made->handle_);
  if (status != 0 || made->set_stream_(made->handle_, stream) != 0 ||
      made->get_version_(made->handle_, &made->version_) != 0) {
    why = fmt::format("cublasCreate fails with {}", status);
    return nullptr;
  }
  return made;
}

Cublas::~Cublas() {
  if (handle_ != nullptr) destroy_(handle_);
  if (library_ != nullptr) dlclose(library_);
}

// Column-major, the product is b^T a^T = c^T: the operands change places.
void Cublas::multiply(bool bf16, int m, int n, int k, ptx::cuda::DevicePointer a,
                      ptx::cuda::DevicePointer b, ptx::cuda::DevicePointer c) const {
  const float one = 1, zero = 0;
  const int type = bf16 ? type_bf16 : type_f32;
  const Status status =
      gemm_(handle_, no_transpose, no_transpose, n, m, k, &one, reinterpret_cast<const void*>(b),
            type, n, reinterpret_cast<const void*>(a), type, k, &zero, reinterpret_cast<void*>(c),
            type, n, compute_f32, default_algorithm);
  if (status != 0)
    throw Error(ErrorKind::device, fmt::format("cublasGemmEx fails with {}", status));
}

}  // namespace dyn::gpu_check
