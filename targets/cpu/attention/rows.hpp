#pragma once
// What attention does with one row of scores, as IR: dot products for few rows, and the step of the
// online softmax.

#include <vector>

#include "targets/cpu/x86/vector_code.hpp"
#include "targets/llvm/math/math.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// One row of a tile of scores, and what is carried for it. All but the counts are addresses.
struct ScoreRow {
  llvm::Value* scores;
  llvm::Value *visible, *total;  ///< keys that the row sees, of those that the tile has
  llvm::Value *mask,
      *mask_stride;  ///< of the row's first key here, in floats from key to key; nullptr: none
  llvm::Value *maximum, *sum;
  llvm::Value *accumulator, *accumulator_columns;
  /// Scales of the rows of keys and values from the first key here on; nullptr: none.
  llvm::Value *key_scales = nullptr, *value_scales = nullptr;
  /// Shares become bf16, two for each score, from the row's first place on.
  bool pairs = false;
};

/// Turns scores into e^(score - maximum), times the scale of the key's values, 0 where the row does
/// not see the key, and brings maximum, sum (without those scales) and accumulator up to date. A
/// maximum of -inf (nothing seen yet) counts as 0, so that no -inf - -inf arises. NaN scores make
/// the sum NaN.
void emit_softmax_step(VectorCode& code, codegen::Math& math, codegen::StrideClass mask_class,
                       const ScoreRow& row);

/// A block of keys as it lies, with stride 1 along d.
struct KeyBlock {
  llvm::Value *data, *row_stride, *keys, *depth;
  DType dtype = DType::f32;
};

/// scores[r * score_row + key] = sum over d of q[r * q_row + d] * key(key, d) for `rows` rows, q
/// being padded to whole vectors. As many keys as the ISA has lanes at a time, each with its lanes
/// along d, summed across by a tree of shuffles; scores are written in whole vectors.
void emit_dots(VectorCode& code, const KeyBlock& block, llvm::Value* q, llvm::Value* q_row,
               llvm::Value* rows, llvm::Value* scores, llvm::Value* score_row);

/// Panels of the ISA's width: to[(key / width) * panel_stride + d * width + key % width] = key(key,
/// d). The panels' depth is padded to whole vectors, with zeros; where keys end within a panel, its
/// other columns hold anything.
void emit_key_panels(VectorCode& code, const KeyBlock& block, llvm::Value* to,
                     llvm::Value* panel_stride);

/// Adds to accumulator[r * accumulator_row + n] the sum over keys of shares[r * share_row + key] *
/// values[key * value_row + n], for n < columns, which are fewer than a vector has lanes.
struct ValueTail {
  llvm::Value *values, *value_row, *keys, *columns;
  llvm::Value *shares, *share_row, *rows;
  llvm::Value *accumulator, *accumulator_row;
  DType dtype = DType::f32;  ///< of the values
};
void emit_value_tail(VectorCode& code, const ValueTail& tail);

/// The addresses of keys [first, first + lanes): `last`, where given, stands in for those beyond
/// it.
std::vector<llvm::Value*> key_rows(VectorCode& code, const KeyBlock& block, llvm::Value* first,
                                   llvm::Value* last);

/// to[r * to_row + d] = from(r, d) * factor for d < depth, then zeros to whole vectors.
struct ScaledRows {
  llvm::Value *data, *row_stride, *column_stride;
  bool unit;  ///< column_stride is 1
  llvm::Value *rows, *depth, *factor;
  DType dtype = DType::f32;  ///< of the rows as they lie
  bool pairs = false;        ///< they become bf16; to_row counts pairs
};
void emit_scaled_rows(VectorCode& code, const ScaledRows& from, llvm::Value* to,
                      llvm::Value* to_row);

}  // namespace dyn::cpu
