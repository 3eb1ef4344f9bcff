#include "targets/ptx/sharing/part_memory.hpp"

#include "src/rkernel/target/device.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {

std::size_t PartMemory::bytes(std::int64_t places, std::size_t bytes_of_place) {
  return rkernel::counter_bytes + static_cast<std::size_t>(places) * bytes_of_place;
}

llvm::Value* PartMemory::place(llvm::Value* index, std::size_t bytes) {
  llvm::Value* distance =
      builder_.CreateMul(builder_.CreateZExt(index, builder_.getInt64Ty()),
                         builder_.getInt64(static_cast<std::uint64_t>(bytes)), "", true, true);
  return at_byte(builder_, memory_,
                 builder_.CreateAdd(distance, builder_.getInt64(rkernel::counter_bytes)));
}

llvm::Value* PartMemory::arrive(llvm::Value* tile, llvm::Value* count) {
  // The barrier orders the stores of all threads before the fence of one.
  call(builder_, Op::Barrier);
  codegen::Conditional first(builder_, builder_.CreateICmpEQ(thread_, number(builder_, 0)),
                             "arrive");
  llvm::Value* counter = builder_.CreateGEP(builder_.getInt32Ty(), memory_, tile);
  call(builder_, Op::Fence);
  llvm::Value* before = call(builder_, Op::AtomicAdd, {counter, number(builder_, 1)});
  call(builder_, Op::Fence);
  llvm::Value* is_last =
      builder_.CreateICmpEQ(before, builder_.CreateSub(count, number(builder_, 1)));
  codegen::Conditional last(builder_, is_last, "reset_counter");
  call(builder_, Op::AtomicAdd, {counter, builder_.CreateNeg(count)});
  last.close();
  builder_.CreateAlignedStore(builder_.CreateZExt(is_last, builder_.getInt32Ty()), word_,
                              llvm::Align(4));
  first.close();
  call(builder_, Op::Barrier);
  llvm::Value* word = builder_.CreateAlignedLoad(builder_.getInt32Ty(), word_, llvm::Align(4));
  call(builder_, Op::Barrier);  // the word's memory is free again
  return builder_.CreateICmpNE(word, number(builder_, 0));
}

llvm::Value* load_part_memory(codegen::Builder& builder, const codegen::KernelArgsValues& args,
                              std::size_t operands) {
  llvm::Type* pointer = args.pointers->getType();
  llvm::Value* field = builder.CreateConstInBoundsGEP1_64(pointer, args.pointers, operands);
  return builder.CreateAlignedLoad(pointer, field, llvm::Align(8));
}

}  // namespace dyn::ptx
