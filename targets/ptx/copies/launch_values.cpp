#include "targets/ptx/copies/launch_values.hpp"

#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {

llvm::ConstantInt* LaunchValues::wide(std::int64_t value) const {
  return builder_.getInt64(static_cast<std::uint64_t>(value));
}

llvm::Value* LaunchValues::slot(int index) const {
  return index == codegen::SlotTable::none ? wide(0) : operands_.slot(index);
}

llvm::Value* LaunchValues::loaded(int index) const {
  return load_word(builder_, args_.ints, index);
}

llvm::Value* LaunchValues::loaded_wide(int index) const {
  llvm::Value* address = builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), args_.ints,
                                                             static_cast<std::uint64_t>(index));
  return builder_.CreateAlignedLoad(builder_.getInt64Ty(), address, llvm::Align(8));
}

llvm::Value* LaunchValues::existing(llvm::Value* extent, llvm::Value* first, int size) const {
  llvm::Value* count = smaller(builder_, builder_.CreateSub(extent, first), wide(size));
  return builder_.CreateTrunc(count, builder_.getInt32Ty());
}

llvm::Value* LaunchValues::element(int operand, llvm::Value* base, llvm::Value* index) const {
  const DType dtype = problem_.operands[static_cast<std::size_t>(operand)].dtype;
  return at_byte(builder_, base,
                 builder_.CreateMul(index, wide(static_cast<std::int64_t>(size_of(dtype)))));
}

llvm::Value* LaunchValues::base(int operand) const {
  llvm::Type* pointer = args_.pointers->getType();
  llvm::Value* field = builder_.CreateConstInBoundsGEP1_64(pointer, args_.pointers,
                                                           static_cast<std::uint64_t>(operand));
  return element(operand, builder_.CreateAlignedLoad(pointer, field, llvm::Align(8)),
                 slot(slots_.offset(operand)));
}

}  // namespace dyn::ptx
