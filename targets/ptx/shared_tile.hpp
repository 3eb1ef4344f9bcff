#pragma once
// How a tile lies in shared memory. What writes it and what reads it agree through this alone.

#include <cstdint>

#include "targets/llvm/types.hpp"

namespace dyn::ptx {

/// Rows of bytes, with padding, or with 16-byte chunks permuted within a row so that ldmatrix and copies meet no bank twice.
struct SharedTile {
  int rows = 0, row_bytes = 0;  ///< without padding; a multiple of 16
  int padding_bytes = 0;        ///< after each row; 0 where swizzled
  bool swizzled = false;

  int stride_bytes() const { return row_bytes + padding_bytes; }
  /// A multiple of 128.
  int bytes() const { return (rows * stride_bytes() + 127) / 128 * 128; }
  /// Byte offset of chunk `chunk` of 16 bytes of a row, swizzle included.
  std::int64_t chunk_offset(std::int64_t row, std::int64_t chunk) const;
  /// The same as IR: i32 values.
  llvm::Value* chunk_offset(codegen::Builder& builder, llvm::Value* row, llvm::Value* chunk) const;
};

}  // namespace dyn::ptx
