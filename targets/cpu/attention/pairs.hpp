#pragma once
// Keys and values as pairs of bf16 (rkernel::Group::Bfloats), as the main loops of such read them.
// Their places are counted in pairs, which are as large as an f32. Code of this kind is for
// vectors of 16 lanes and functions that may round by the instruction.

#include "targets/cpu/attention/rows.hpp"

namespace dyn::cpu {

/// Elements of a row's depth in panels: whole vectors of pairs.
inline constexpr std::int64_t depth_multiple = 32;

/// Panels of pairs along d: to[(key / width) * panel_stride + p * width + key % width] = (key(key,
/// 2 p), key(key, 2 p + 1)). The panels' depth is padded to depth_multiple, with zeros; where keys
/// end within a panel, its other columns hold anything.
void emit_key_pairs(VectorCode& code, const KeyBlock& block, llvm::Value* to,
                    llvm::Value* panel_stride);

/// Rows of values, with stride 1 along n.
struct ValueBlock {
  llvm::Value *data, *row_stride, *keys, *columns;
  DType dtype = DType::f32;
};
/// Panels of pairs along keys: to[(n / width) * panel_stride + p * width + n % width] = (value(2 p,
/// n), value(2 p + 1, n)), 0 for a key beyond the last. Columns beyond the last hold anything.
void emit_value_pairs(VectorCode& code, const ValueBlock& block, llvm::Value* to,
                      llvm::Value* panel_stride);

/// Stores 16 floats as bf16 at element `offset` of `base`, which are elements of bf16.
void store_bfloats(VectorCode& code, llvm::Value* value, llvm::Value* base, llvm::Value* offset);

}  // namespace dyn::cpu
