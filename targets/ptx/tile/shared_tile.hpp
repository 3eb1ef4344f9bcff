#pragma once
// The layout of a tile in shared memory. Writers and readers agree through this alone.

#include <cstdint>

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

inline constexpr int chunk_bytes = 16;

/// Rows of bytes, with padding, or with 16-byte chunks permuted within a row so that ldmatrix and
/// copies use no bank twice: chunk c of row r lies at chunk c xor (r / (8 / g)) mod g, where g is
/// the greatest common divisor of 8 and the chunks of a row. So one chunk of 8 successive rows
/// fills all 128 bytes of the banks.
struct SharedTile {
  int rows = 0, row_bytes = 0;  ///< without padding; a multiple of 16
  int padding_bytes = 0;        ///< padding after each row; 0 where swizzled
  bool swizzled = false;
  int before_bytes = 0, after_bytes = 0;  ///< where these are columns of a larger tile: its bytes
                                          ///< before and after them in each row

  int stride_bytes() const { return before_bytes + row_bytes + after_bytes + padding_bytes; }
  /// Of one row of the whole tile.
  int chunks() const { return (before_bytes + row_bytes + after_bytes) / chunk_bytes; }
  /// A multiple of 128.
  int bytes() const { return (rows * stride_bytes() + 127) / 128 * 128; }
  /// Rows after which chunks lie in the same order again.
  int period() const { return swizzled ? 8 : 1; }
  /// Byte offset of chunk `chunk` of 16 bytes of a row, swizzle included.
  std::int64_t chunk_offset(std::int64_t row, std::int64_t chunk) const;
  /// The same as IR: i32 values.
  llvm::Value* chunk_offset(codegen::Builder& builder, llvm::Value* row, llvm::Value* chunk) const;
  /// Byte offset of one element of a row, i32 values; `element_bytes` is a power of two, 16 at
  /// most.
  llvm::Value* element_offset(codegen::Builder& builder, llvm::Value* row, llvm::Value* column,
                              int element_bytes) const;
};

}  // namespace dyn::ptx
