#include "src/cli/report/gpu_peak.hpp"

#include <algorithm>

namespace dyn::cli {

double flops_per_second(const choice::GpuMachine& gpu, double fma) {
  return 2 * fma * gpu.multiprocessors * gpu.clock_hz;
}

double limit_seconds(const choice::GpuMachine& gpu, const std::string& precision, double flops,
                     double bytes) {
  const double fma = precision == "f32"    ? gpu.f32_fma
                     : precision == "tf32" ? gpu.tf32_mma_fma
                                           : gpu.f16_mma_fma;
  return std::max(flops / flops_per_second(gpu, fma), bytes / gpu.memory_bytes_per_second);
}

}  // namespace dyn::cli
