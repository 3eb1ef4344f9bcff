#include "targets/ptx/contraction/fix_up.hpp"

#include "targets/llvm/code/loops.hpp"
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
  return PartMemory::bytes(tickets + tiles,
                           static_cast<std::size_t>(tile_elements) * sizeof(float));
}

// Neighbouring threads store neighbouring vectors.
llvm::Value* FixUp::vector_at(llvm::Value* index, std::size_t sums, std::size_t vector) {
  const auto threads = static_cast<std::size_t>(threads_);
  llvm::Value* bytes = builder_.CreateMul(builder_.CreateZExt(thread_, builder_.getInt64Ty()),
                                          builder_.getInt64(vector_sums * sizeof(float)));
  return at_byte(builder_, memory_.place(index, sums * sizeof(float) * threads),
                 builder_.CreateAdd(bytes, builder_.getInt64(vector * sizeof(float) * threads)));
}

llvm::Value* FixUp::arrive(const TileParts& parts, llvm::Value* ticket,
                           std::span<llvm::Value* const> sums) {
  llvm::Value* index = builder_.CreateAdd(ticket, parts.tile);
  for (std::size_t i = 0; i < sums.size(); i += vector_sums) {
    llvm::Value* vector = llvm::PoisonValue::get(vector_of(sums[i]));
    for (std::size_t j = 0; j < vector_sums; ++j)
      vector = builder_.CreateInsertElement(vector, sums[i + j], j);
    builder_.CreateAlignedStore(vector, vector_at(index, sums.size(), i), llvm::Align(16));
  }
  return memory_.arrive(parts.tile, parts.count);
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
        builder_.CreateAlignedLoad(vector_of(zeros[i]), vector_at(index, sums, i), llvm::Align(16));
    for (std::size_t j = 0; j < vector_sums; ++j) {
      llvm::Value *sum = loop.carried(i + j), *part = builder_.CreateExtractElement(vector, j);
      next.push_back(integers ? builder_.CreateAdd(sum, part) : builder_.CreateFAdd(sum, part));
    }
  }
  return loop.close(next);
}

}  // namespace dyn::ptx
