#pragma once
// The two things that limit every program: multiply-adds and reads. Written in intrinsics, one version for each
// instruction set.

#include <cstddef>
#include <cstdint>
#include <string>

namespace dyn::peak {

struct Kernels {
  std::string isa;
  /// Independent chains of f32 multiply-adds; returns a value that depends on all of them.
  float (*multiply_add)(std::int64_t iterations);
  double flops_per_iteration;
  /// Reads `bytes` (a multiple of 512, aligned to 64) once; returns a value that depends on all of them.
  std::uint64_t (*read)(const void* data, std::size_t bytes);
};

/// The best that this CPU has.
Kernels best_kernels();

}  // namespace dyn::peak
