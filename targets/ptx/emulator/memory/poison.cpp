#include "targets/ptx/emulator/memory/poison.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include "targets/ptx/emulator/memory/poison_word.hpp"

namespace dyn::ptx::emulation {

llvm::Constant* poison_of(llvm::Type* type) {
  if (type->isIntegerTy() || type->isFloatingPointTy()) {
    const unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
    const llvm::APInt word(32, poison_word);
    // The sign and exponent of a NaN are in the upper bits, also for 16 bits.
    const llvm::APInt pattern =
        bits <= 32 ? word.lshr(32 - bits).trunc(bits) : llvm::APInt::getSplat(bits, word);
    if (type->isIntegerTy()) return llvm::ConstantInt::get(type, pattern);
    return llvm::ConstantFP::get(type->getContext(),
                                 llvm::APFloat(type->getFltSemantics(), pattern));
  }
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return llvm::ConstantVector::getSplat(vector->getElementCount(),
                                          poison_of(vector->getElementType()));
  if (auto* fields = llvm::dyn_cast<llvm::StructType>(type)) {
    llvm::SmallVector<llvm::Constant*, 4> values;
    for (llvm::Type* field : fields->elements()) values.push_back(poison_of(field));
    return llvm::ConstantStruct::get(fields, values);
  }
  return llvm::Constant::getNullValue(type);
}

}  // namespace dyn::ptx::emulation
