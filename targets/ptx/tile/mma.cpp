#include "targets/ptx/tile/mma.hpp"

#include <algorithm>
#include <string>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx {

Op mma_instruction(DType a, DType b) {
  const bool is_signed = b == DType::i8;
  if (is_signed || b == DType::u8) {
    if (a == DType::u8) return is_signed ? Op::MmaU8I8 : Op::MmaU8U8;
    if (a == DType::i8) return is_signed ? Op::MmaI8I8 : Op::MmaI8U8;
  } else if (a == b) {
    if (a == DType::f16) return Op::MmaF16;
    if (a == DType::bf16) return Op::MmaBf16;
    // Elements in shared memory are truncated to TF32, not rounded: mma ignores the low 13 bits.
    if (a == DType::f32) return Op::MmaTf32;
  }
  throw Error(ErrorKind::internal,
              "tensor cores multiply f16, bf16 and f32 (as TF32) by the same, and i8 and u8 by "
              "each other, not " +
                  std::string(name_of(a)) + " by " + std::string(name_of(b)));
}

void multiply_fragments(codegen::Builder& builder, Op instruction,
                        const std::vector<std::vector<llvm::Value*>>& rows,
                        const std::vector<std::vector<llvm::Value*>>& columns,
                        std::span<llvm::Value*> sums) {
  auto sum = sums.begin();
  for (const auto& a : rows) {
    for (const auto& b : columns) {
      std::vector<llvm::Value*> arguments(a);
      arguments.insert(arguments.end(), b.begin(), b.end());
      arguments.insert(arguments.end(), sum, sum + mma_accumulators);
      const auto added = results(builder, call(builder, instruction, arguments));
      sum = std::copy(added.begin(), added.end(), sum);
    }
  }
}

}  // namespace dyn::ptx
