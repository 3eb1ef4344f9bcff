#include "targets/cpu/tile/codes.hpp"

#include <llvm/IR/IntrinsicsX86.h>

#include "src/rkernel/problem/factors.hpp"

namespace dyn::cpu {
namespace {

constexpr int bits = 32 / rkernel::codes_of_word, table_lanes = 1 << bits;

llvm::Value* number_of(codegen::Builder& builder, int value) {
  return builder.getInt32(static_cast<std::uint32_t>(value));
}

/// By code.
llvm::Constant* numbers(codegen::Builder& builder) {
  std::vector<float> all;
  for (int code = 0; code < table_lanes; ++code)
    all.push_back(static_cast<float>(code < table_lanes / 2 ? code : code - table_lanes));
  return llvm::ConstantDataVector::get(builder.getContext(), all);
}

}  // namespace

llvm::Value* numbers_of_codes(codegen::Builder& builder, const codegen::Isa& isa,
                              llvm::Value* words, llvm::Value* index) {
  const auto all = [&](llvm::Value* number) {
    return codegen::broadcast(builder, number, isa.f32_lanes);
  };
  llvm::Value* first =
      builder.CreateMul(builder.CreateTrunc(index, builder.getInt32Ty()), number_of(builder, bits));
  // A table of all codes is one vector, whose index is the lowest bits of a lane.
  if (isa.f32_lanes == table_lanes)
    return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                   {numbers(builder), builder.CreateLShr(words, all(first))});
  llvm::Value* above = builder.CreateSub(number_of(builder, 32 - bits), first);
  llvm::Value* whole =
      builder.CreateAShr(builder.CreateShl(words, all(above)), all(number_of(builder, 32 - bits)));
  return builder.CreateSIToFP(whole, codegen::lanes_of(builder.getFloatTy(), isa.f32_lanes));
}

}  // namespace dyn::cpu
