#include "targets/ptx/ir/words.hpp"

#include <llvm/IR/Intrinsics.h>

#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx {

llvm::Value* smaller(codegen::Builder& builder, llvm::Value* a, llvm::Value* b) {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

llvm::Value* larger(codegen::Builder& builder, llvm::Value* a, llvm::Value* b) {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
}

llvm::Value* ones(codegen::Builder& builder, llvm::Value* word) {
  return builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, word);
}

llvm::Value* load_word(codegen::Builder& builder, llvm::Value* ints, int slot) {
  llvm::Value* address = builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), ints,
                                                            static_cast<std::uint64_t>(slot));
  return builder.CreateAlignedLoad(builder.getInt32Ty(), address, llvm::Align(8));
}

llvm::Value* word_by_word(codegen::Builder& builder, llvm::Value* value,
                          const std::function<llvm::Value*(llvm::Value*, int)>& change) {
  llvm::Type* type = value->getType();
  llvm::Type* word = builder.getInt32Ty();
  if (type->isDoubleTy()) {
    llvm::Value* bits = builder.CreateBitCast(value, builder.getInt64Ty());
    return builder.CreateBitCast(word_by_word(builder, bits, change), type);
  }
  if (type->isIntegerTy(64)) {
    llvm::Value* low = change(builder.CreateTrunc(value, word), 0);
    llvm::Value* high = change(builder.CreateTrunc(builder.CreateLShr(value, 32), word), 1);
    return builder.CreateOr(builder.CreateZExt(low, type),
                            builder.CreateShl(builder.CreateZExt(high, type), 32));
  }
  if (type->isIntegerTy() && type->getIntegerBitWidth() < word->getIntegerBitWidth())
    return builder.CreateTrunc(change(builder.CreateZExt(value, word), 0), type);
  return builder.CreateBitCast(change(builder.CreateBitCast(value, word), 0), type);
}

llvm::Value* of_lane(codegen::Builder& builder, llvm::Value* value, llvm::Value* lane) {
  constexpr int warp_segment = 0x1f, whole_warp = -1;
  return word_by_word(builder, value, [&](llvm::Value* word, int) {
    return call(builder, Op::ShuffleIndex,
                {word, lane, number(builder, warp_segment), number(builder, whole_warp)});
  });
}

}  // namespace dyn::ptx
