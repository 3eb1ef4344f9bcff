#pragma once
// One matrix product on a GPU, ready to be launched again and again on operands that may rotate.

#include <memory>
#include <vector>

#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/cuda/context.hpp"
#include "targets/ptx/cuda/stream.hpp"
#include "targets/ptx/ir/ptx_device.hpp"
#include "tests/gpu/matmul_problem.hpp"

namespace dyn::gpu_check {

struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// Operands of one product in device memory.
struct MatmulOperands {
  rkernel::DeviceBlock a, b, c, pointers;
};

class BenchMatmul {
 public:
  /// `copies` sets of operands, with the same random values in each; `tiles`: what dyn chooses
  /// among.
  BenchMatmul(ptx::PtxDevice& device, DType dtype, const MatmulShape& shape,
              const std::vector<choice::GpuTile>& tiles, int copies, std::uint64_t seed);

  double predicted_seconds() const { return launch_.predicted_seconds; }
  int copies() const { return static_cast<int>(operands_.size()); }
  const MatmulOperands& operands(int index) const {
    return operands_[static_cast<std::size_t>(index)];
  }
  /// Launches dyn's kernel on one set. With the context current.
  void launch(const ptx::cuda::Context& context, ptx::cuda::StreamHandle stream, int index) const;
  /// c of the first set.
  std::vector<float> result() const;

 private:
  void upload(std::uint64_t seed, int copies);

  ptx::PtxDevice& device_;
  DType dtype_;
  MatmulShape shape_;
  MatmulProblem problem_;
  std::unique_ptr<ptx::ContractionKernel> kernel_;
  rkernel::Launch launch_;
  std::unique_ptr<rkernel::Stream> copies_stream_;
  std::vector<MatmulOperands> operands_;
  rkernel::DeviceBlock ints_, status_;
};

}  // namespace dyn::gpu_check
