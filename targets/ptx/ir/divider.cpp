#include "targets/ptx/ir/divider.hpp"

#include <bit>

namespace dyn::ptx {

Divider divider_of(std::int64_t divisor, int bits) {
  if (divisor <= 0) return {};
  const auto d = static_cast<std::uint64_t>(divisor);
  const int shift = std::bit_width(d - 1);
  const std::uint64_t above = (std::uint64_t{1} << shift) - d;
  __extension__ using Wide = unsigned __int128;
  return {static_cast<std::uint64_t>((Wide{above} << bits) / d) + 1, shift};
}

llvm::Value* divided(codegen::Builder& builder, llvm::Value* n, llvm::Value* multiplier,
                     llvm::Value* shift) {
  llvm::Type* type = n->getType();
  const unsigned bits = type->getIntegerBitWidth();
  llvm::Type* wide = builder.getIntNTy(2 * bits);
  llvm::Value* wide_n = builder.CreateZExt(n, wide);
  llvm::Value* product = builder.CreateMul(builder.CreateZExt(multiplier, wide), wide_n);
  llvm::Value* high = builder.CreateTrunc(builder.CreateLShr(product, bits), type);
  return builder.CreateLShr(builder.CreateAdd(high, n), shift);
}

}  // namespace dyn::ptx
