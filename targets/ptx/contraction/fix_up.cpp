#include "targets/ptx/contraction/fix_up.hpp"

#include "src/rkernel/target/device.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

/// Sums of a thread that are stored together, 16 bytes.
constexpr std::size_t vector_sums = 4;

llvm::Type* vector_of(llvm::Value* sum) {
  return llvm::FixedVectorType::get(sum->getType(), vector_sums);
}

}  // namespace

std::size_t FixUp::bytes(std::int64_t tickets, std::int64_t tiles, std::int64_t tile_elements) {
  return rkernel::counter_bytes +
         static_cast<std::size_t>((tickets + tiles) * tile_elements) * sizeof(float);
}

// Neighbouring threads store neighbouring vectors.
llvm::Value* FixUp::place(llvm::Value* index, std::size_t sums, std::size_t vector) {
  const auto wide = [&](llvm::Value* value) {
    return builder_.CreateZExt(value, builder_.getInt64Ty());
  };
  const auto threads = static_cast<std::size_t>(threads_);
  llvm::Value* bytes = builder_.CreateMul(
      wide(index), builder_.getInt64(sums * sizeof(float) * threads), "", true, true);
  bytes = builder_.CreateAdd(
      bytes, builder_.CreateMul(wide(thread_), builder_.getInt64(vector_sums * sizeof(float))));
  return at_byte(builder_, memory_,
                 builder_.CreateAdd(bytes, builder_.getInt64(rkernel::counter_bytes +
                                                             vector * sizeof(float) * threads)));
}

llvm::Value* FixUp::arrive(const TileParts& parts, llvm::Value* ticket,
                           std::span<llvm::Value* const> sums) {
  llvm::Value* index = builder_.CreateAdd(ticket, parts.tile);
  for (std::size_t i = 0; i < sums.size(); i += vector_sums) {
    llvm::Value* vector = llvm::PoisonValue::get(vector_of(sums[i]));
    for (std::size_t j = 0; j < vector_sums; ++j)
      vector = builder_.CreateInsertElement(vector, sums[i + j], j);
    builder_.CreateAlignedStore(vector, place(index, sums.size(), i), llvm::Align(16));
  }
  // The barrier orders the stores of all threads before the fence of one.
  call(builder_, Op::Barrier);
  codegen::Conditional first(builder_, builder_.CreateICmpEQ(thread_, number(builder_, 0)),
                             "arrive");
  llvm::Value* counter = builder_.CreateGEP(builder_.getInt32Ty(), memory_, parts.tile);
  call(builder_, Op::Fence);
  llvm::Value* before = call(builder_, Op::AtomicAdd, {counter, number(builder_, 1)});
  call(builder_, Op::Fence);
  llvm::Value* is_last =
      builder_.CreateICmpEQ(before, builder_.CreateSub(parts.count, number(builder_, 1)));
  codegen::Conditional last(builder_, is_last, "reset_counter");
  call(builder_, Op::AtomicAdd, {counter, builder_.CreateNeg(parts.count)});
  last.close();
  builder_.CreateAlignedStore(builder_.CreateZExt(is_last, builder_.getInt32Ty()), word_,
                              llvm::Align(4));
  first.close();
  call(builder_, Op::Barrier);
  llvm::Value* word = builder_.CreateAlignedLoad(builder_.getInt32Ty(), word_, llvm::Align(4));
  call(builder_, Op::Barrier);  // the word's memory is free again
  return builder_.CreateICmpNE(word, number(builder_, 0));
}

std::vector<llvm::Value*> FixUp::total(const TileParts& parts,
                                       std::span<llvm::Value* const> zeros) {
  const std::size_t sums = zeros.size();
  const bool integers = zeros.front()->getType()->isIntegerTy();
  codegen::CountedLoop loop(builder_, number(builder_, 0), parts.count, number(builder_, 1), "part",
                            zeros);
  loop.keep_rolled();
  llvm::Value* index =
      builder_.CreateAdd(builder_.CreateAdd(parts.first, loop.index()), parts.tile);
  std::vector<llvm::Value*> next;
  for (std::size_t i = 0; i < sums; i += vector_sums) {
    llvm::Value* vector =
        builder_.CreateAlignedLoad(vector_of(zeros[i]), place(index, sums, i), llvm::Align(16));
    for (std::size_t j = 0; j < vector_sums; ++j) {
      llvm::Value *sum = loop.carried(i + j), *part = builder_.CreateExtractElement(vector, j);
      next.push_back(integers ? builder_.CreateAdd(sum, part) : builder_.CreateFAdd(sum, part));
    }
  }
  return loop.close(next);
}

}  // namespace dyn::ptx
