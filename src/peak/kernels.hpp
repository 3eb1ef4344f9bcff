#pragma once
// The two operations that limit every program: multiply-adds and reads. Written in intrinsics, one
// version for each instruction set.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dyn::peak {

enum class Isa : std::uint8_t { sse2, avx2, avx512 };
/// The best instruction set that this CPU has.
Isa best_isa();
/// Finds "sse2", "avx2" or "avx512"; nothing for another name, or for one that this CPU lacks.
std::optional<Isa> find_isa(std::string_view name);
const char* name_of(Isa isa);

/// Independent chains of multiply-adds of narrow elements, as models that have these use them.
struct NarrowKernel {
  const char* name;  ///< "i8": u8 by i8 to i32; "i16": i16 by i16 to i32; "bf16": to f32
  std::int64_t (*multiply_add)(std::int64_t iterations);
  double flops_per_iteration;
};

struct Kernels {
  /// Independent chains of f32 multiply-adds; returns a value that depends on all of them.
  float (*multiply_add)(std::int64_t iterations);
  double flops_per_iteration;
  /// Read `bytes` (a multiple of 512, aligned to 64) once; return a value that depends on all of
  /// them. The second asks for lines ahead: which of them is faster depends on the level of memory.
  std::array<std::uint64_t (*)(const void* data, std::size_t bytes), 2> reads;
};

Kernels kernels_of(Isa isa);
/// Those that this CPU has instructions for.
std::vector<NarrowKernel> narrow_kernels_of(Isa isa);

}  // namespace dyn::peak
