#pragma once
// The products of attention, by the main loops of contractions: queries with keys, and shares with
// values.

#include "targets/cpu/attention/ticket.hpp"

namespace dyn::cpu {

/// Packs what a block of keys needs, and multiplies tiles of rows with it.
class AttentionProducts {
 public:
  AttentionProducts(AttentionFunction& function, const AttentionSizes& sizes);

  void pack_keys(const AttentionKeys& block) const;
  /// Columns beyond the whole vectors, or all where values do not lie row by row.
  void pack_values(const AttentionKeys& block) const;

  void emit_scores(const AttentionKeys& block, const AttentionTile& tile) const;
  /// Adds shares times values to the accumulators of the tile's rows.
  void add_values(const AttentionKeys& block, const AttentionTile& tile,
                  llvm::Value* accumulator) const;

 private:
  /// The main loops of values as they lie, which may be narrower than f32, or those of f32.
  struct Tables {
    llvm::Value *wide, *panel, *vector;
  };
  /// B of a main loop: element (k, column) at data + (column / panel) * panel_stride + k * k_stride
  /// + column % panel.
  struct Matrix {
    llvm::Value *data, *k_stride, *panel_stride;
    Tables tables;
    DType dtype = DType::f32;
  };
  /// A product without its B: c = a * b, or c += a * b, over k.
  struct Product {
    llvm::Value *rows, *a, *a_row, *k, *c_row;
    bool accumulate;
  };

  void call(llvm::Value* table, const Product& product, const Matrix& b, llvm::Value* c) const;
  /// Over `panels` panels: wide tiles, then single panels.
  void multiply(const Product& product, const Matrix& b, llvm::Value* panels, llvm::Value* c) const;
  Product shares(const AttentionTile& tile) const;
  void add_tail(const AttentionKeys& block, const AttentionTile& tile, llvm::Value* left,
                llvm::Value* accumulator) const;
  void add_vectors(const AttentionKeys& block, const AttentionTile& tile, llvm::Value* first,
                   llvm::Value* accumulator) const;
  Tables tables() const { return {sizes_.wide_table, sizes_.panel_table, sizes_.vector_table}; }
  Tables value_tables() const {
    return {sizes_.wide_value_table, sizes_.panel_value_table, sizes_.vector_value_table};
  }
  DType key_dtype() const { return function_.dtype_of(function_.attention.k); }
  DType value_dtype() const { return function_.dtype_of(function_.attention.v); }
  llvm::Value* key_panel_stride() const;
  bool pairs() const { return function_.shape_class.pairs; }
  void add_value_pairs(const AttentionKeys& block, const AttentionTile& tile,
                       llvm::Value* accumulator) const;
  bool reads_value_tail() const;
  std::int64_t panel() const { return code_.isa().panel_f32; }
  llvm::ConstantInt* number(std::int64_t value) const { return code_.number(value); }

  AttentionFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  const AttentionSizes& sizes_;
  llvm::FunctionType* main_loop_;
};

}  // namespace dyn::cpu
