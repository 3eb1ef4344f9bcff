#include "targets/ptx/tile/shared_tile.hpp"

#include <numeric>

namespace dyn::ptx {
namespace {

/// Chunks of 16 bytes in the 128 bytes of all banks.
constexpr int bank_chunks = 8;

/// Rows permute their chunks so: chunk xor (row / rows) % ways.
struct Swizzle {
  int rows, ways;
};

Swizzle swizzle_of(const SharedTile& tile) {
  const int ways = tile.swizzled ? std::gcd(tile.chunks(), bank_chunks) : 1;
  return {bank_chunks / ways, ways};
}

}  // namespace

std::int64_t SharedTile::chunk_offset(std::int64_t row, std::int64_t chunk) const {
  const Swizzle swizzle = swizzle_of(*this);
  chunk += before_bytes / chunk_bytes;
  return row * stride_bytes() + (chunk ^ (row / swizzle.rows % swizzle.ways)) * chunk_bytes;
}

llvm::Value* SharedTile::chunk_offset(codegen::Builder& builder, llvm::Value* row,
                                      llvm::Value* chunk) const {
  const auto number = [&](int value) {
    return builder.getInt32(static_cast<std::uint32_t>(value));
  };
  const Swizzle swizzle = swizzle_of(*this);
  if (before_bytes > 0) chunk = builder.CreateAdd(chunk, number(before_bytes / chunk_bytes));
  if (swizzle.ways > 1) {
    llvm::Value* turn =
        builder.CreateAnd(builder.CreateUDiv(row, number(swizzle.rows)), number(swizzle.ways - 1));
    chunk = builder.CreateXor(chunk, turn);
  }
  return builder.CreateAdd(builder.CreateMul(row, number(stride_bytes())),
                           builder.CreateMul(chunk, number(chunk_bytes)));
}

llvm::Value* SharedTile::element_offset(codegen::Builder& builder, llvm::Value* row,
                                        llvm::Value* column, int element_bytes) const {
  const auto number = [&](int value) {
    return builder.getInt32(static_cast<std::uint32_t>(value));
  };
  const int elements = chunk_bytes / element_bytes;
  if (elements == 1) return chunk_offset(builder, row, column);
  llvm::Value* within =
      builder.CreateMul(builder.CreateAnd(column, number(elements - 1)), number(element_bytes));
  return builder.CreateAdd(chunk_offset(builder, row, builder.CreateUDiv(column, number(elements))),
                           within);
}

}  // namespace dyn::ptx
