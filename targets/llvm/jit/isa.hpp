#pragma once
// Instruction sets as data for code generation and candidates.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/dtype.hpp"

namespace dyn::codegen {

struct Isa {
  std::string name;  ///< "avx512", "avx2", "sse2"
  int f32_lanes;     ///< lanes of one vector register
  int vector_registers;
  bool fma;
  bool mask_registers;   ///< masks live in their own registers: a masked store costs as much as any
                         ///< store
  int panel_f32;         ///< columns of a packed f32 panel
  std::string llvm_cpu;  ///< -mcpu
  std::string llvm_features;  ///< -mattr, "+avx2,+fma,..."
  /// What kernels may use besides, where that is wanted: the conversion of AVX512-BF16, which
  /// flushes subnormal numbers as that extension's products do.
  bool rounds_bfloats = false;
  /// And whether main loops multiply u8 by i8, and bf16, by AMX.
  bool matrices = false;
};

/// Best first.
std::span<const Isa> all_isas();
/// The ISA with this name, or for "" the best that this CPU has. Throws Error(user) for an unknown
/// name, Error(unsupported) for one that the CPU lacks.
const Isa& select_isa(std::string_view name);
bool cpu_has(const Isa& isa);
/// The same ISA where kernels round to bf16 by the instruction.
const Isa& with_rounding(const Isa& isa);
/// The same ISA with AMX.
const Isa& with_matrices(const Isa& isa);
/// True where there are instructions for weights in this dtype: f32, bf16, i8, and f16 where it can
/// be converted.
bool can_widen(const Isa& isa, DType dtype);
/// Those of them, f32 first.
std::vector<DType> widened_dtypes(const Isa& isa);

}  // namespace dyn::codegen
