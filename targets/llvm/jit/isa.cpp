#include "targets/llvm/jit/isa.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dyn/error.hpp"

namespace dyn::codegen {
namespace {

// Panels are two vectors wide: with two vectors per row one broadcast of A serves two
// multiply-adds, and 6 x 16 (16 registers) or 14 x 32 (32 registers) tiles fill the register file
// without spills.
const std::array<Isa, 3>& table() {
  static const std::array<Isa, 3> isas = {{
      {"avx512", 16, 32, true, true, 32, "x86-64-v4",
       "+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma,+f16c"},
      {"avx2", 8, 16, true, false, 16, "x86-64-v3", "+avx2,+fma,+f16c"},
      {"sse2", 4, 16, false, false, 8, "x86-64", ""},
  }};
  return isas;
}

}  // namespace

std::span<const Isa> all_isas() { return table(); }

bool cpu_has(const Isa& isa) {
  __builtin_cpu_init();
  if (isa.name == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
  }
  if (isa.name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("sse2");
}

namespace {

/// All ISAs with these extras.
template <bool rounds_bfloats, bool matrices>
const Isa& extended(const Isa& isa) {
  static const std::array<Isa, 3> isas = [] {
    std::array<Isa, 3> all = table();
    for (Isa& each : all) each.rounds_bfloats = rounds_bfloats, each.matrices = matrices;
    return all;
  }();
  return *std::ranges::find(isas, isa.name, &Isa::name);
}

}  // namespace

const Isa& with_rounding(const Isa& isa) {
  return isa.matrices ? extended<true, true>(isa) : extended<true, false>(isa);
}

const Isa& with_matrices(const Isa& isa) {
  return isa.rounds_bfloats ? extended<true, true>(isa) : extended<false, true>(isa);
}

bool can_widen(const Isa& isa, DType dtype) {
  return dtype != DType::f16 || isa.llvm_features.find("+f16c") != std::string::npos;
}

std::vector<DType> widened_dtypes(const Isa& isa) {
  std::vector<DType> dtypes{DType::f32, DType::bf16, DType::f16, DType::i8};
  std::erase_if(dtypes, [&](DType dtype) { return !can_widen(isa, dtype); });
  return dtypes;
}

const Isa& select_isa(std::string_view name) {
  std::string names;
  for (const Isa& isa : all_isas()) {
    if (name.empty() ? cpu_has(isa) : isa.name == name) {
      if (!cpu_has(isa)) {
        throw Error(ErrorKind::unsupported,
                    fmt::format("this CPU does not have the instruction set '{}' that Options::isa "
                                "asks for; leave it "
                                "empty to use the best that the CPU has",
                                name));
      }
      return isa;
    }
    names += (names.empty() ? "" : ", ") + isa.name;
  }
  throw Error(
      ErrorKind::user,
      fmt::format("unknown instruction set '{}' in Options::isa; known are {}", name, names));
}

}  // namespace dyn::codegen
