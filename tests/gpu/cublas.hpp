#pragma once
// cuBLAS as a peer: as much of it as one matrix product needs, found at run time.

#include <memory>
#include <string>

#include "targets/ptx/cuda/driver.hpp"

namespace dyn::gpu_check {

/// A handle on a stream of the current context.
class Cublas {
 public:
  /// nullptr where the library is missing; `why` tells why.
  static std::unique_ptr<Cublas> open(const std::string& library, ptx::cuda::StreamHandle stream,
                                      std::string& why);
  ~Cublas();

  int version() const noexcept { return version_; }
  /// Row-major c = a * b, all f32 or all bf16, sums in f32 and no TF32. Throws Error(device).
  void multiply(bool bf16, int m, int n, int k, ptx::cuda::DevicePointer a,
                ptx::cuda::DevicePointer b, ptx::cuda::DevicePointer c) const;

 private:
  Cublas() = default;
  using Handle = struct CublasTag*;
  using Status = int;
  Status (*create_)(Handle*) = nullptr;
  Status (*destroy_)(Handle) = nullptr;
  Status (*set_stream_)(Handle, ptx::cuda::StreamHandle) = nullptr;
  Status (*get_version_)(Handle, int*) = nullptr;
  Status (*gemm_)(Handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha,
                  const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
                  const void* beta, void* c, int c_type, int ldc, int compute,
                  int algorithm) = nullptr;
  void* library_ = nullptr;
  Handle handle_ = nullptr;
  int version_ = 0;
};

}  // namespace dyn::gpu_check
