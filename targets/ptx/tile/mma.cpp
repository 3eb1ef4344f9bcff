#include "targets/ptx/tile/mma.hpp"

#include <algorithm>
#include <string>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx {

Op mma_instruction(DType operands) {
  switch (operands) {
    case DType::f16: return Op::MmaF16;
    case DType::bf16: return Op::MmaBf16;
    case DType::f32:
      return Op::MmaTf32;  // elements in shared memory are truncated to TF32, not rounded: mma
                           // ignores the low 13 bits
    default:
      throw Error(ErrorKind::internal, "tensor cores multiply f16, bf16 and f32 (as TF32), not " +
                                           std::string(name_of(operands)));
  }
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
