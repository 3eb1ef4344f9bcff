#include "targets/cpu/loop/scratch.hpp"

namespace dyn::cpu {

using llvm::Value;

Value* ScratchArray::address(Value* element) const {
  return builder_.CreateGEP(unit(), memory_, element);
}

llvm::Type* ScratchArray::unit() const {
  return builder_.getIntNTy(static_cast<unsigned>(context_.loop.scratch_element_bytes) * 8);
}

llvm::Align ScratchArray::alignment() const {
  return llvm::Align(static_cast<std::uint64_t>(context_.loop.scratch_element_bytes));
}

Value* ScratchArray::load(DType dtype, Value* element, int width) const {
  llvm::Type* scalar = codegen::register_type(builder_.getContext(), dtype);
  llvm::Type* type = codegen::lanes_of(scalar, width);
  Value* from = address(element);
  if (scalar->getScalarSizeInBits() == unit()->getScalarSizeInBits())
    return builder_.CreateAlignedLoad(type, from, alignment());
  Value* units = builder_.CreateAlignedLoad(codegen::lanes_of(unit(), width), from, alignment());
  Value* bits = builder_.CreateTrunc(
      units, codegen::lanes_of(builder_.getIntNTy(scalar->getScalarSizeInBits()), width));
  return builder_.CreateBitCast(bits, type);
}

void ScratchArray::store(Value* value, Value* element) const {
  Value* to = address(element);
  const unsigned size = value->getType()->getScalarSizeInBits();
  const int width = codegen::width_of(value);
  if (size != unit()->getScalarSizeInBits()) {
    Value* bits = builder_.CreateBitCast(value, codegen::lanes_of(builder_.getIntNTy(size), width));
    value = builder_.CreateZExt(bits, codegen::lanes_of(unit(), width));
  }
  builder_.CreateAlignedStore(value, to, alignment());
}

}  // namespace dyn::cpu
