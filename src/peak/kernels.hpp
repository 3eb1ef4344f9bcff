#pragma once
// The two things that limit every program: multiply-adds and reads. Written in intrinsics, one version for each
// instruction set.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dyn::peak {

struct Kernels {
  std::string isa;
  /// Independent chains of f32 multiply-adds; returns a value that depends on all of them.
  float (*multiply_add)(std::int64_t iterations);
  double flops_per_iteration;
  /// Read `bytes` (a multiple of 512, aligned to 64) once; return a value that depends on all of them. The second asks for lines ahead:
  /// which of them is faster depends on the level of memory.
  std::array<std::uint64_t (*)(const void* data, std::size_t bytes), 2> reads;
};

/// The best that this CPU has.
Kernels best_kernels();

}  // namespace dyn::peak
