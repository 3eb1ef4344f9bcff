#pragma once
// The tiles of one block of K of a contraction's ticket: where they lie, and what computes them, as
// IR.

#include <span>

#include "targets/cpu/contraction/copies.hpp"
#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/tile/epilogue.hpp"
#include "targets/cpu/tile/tile_loop.hpp"

namespace dyn::cpu {

/// B of a tile, with strides as a MainLoop gets them.
struct TileOfB {
  llvm::Value *start, *k_stride, *panel_stride;
  std::vector<llvm::Value*> others = {};  ///< where the other right sides start
  llvm::Value* side_stride = nullptr;     ///< elements from one of them to the next
};

/// One iteration along n: the columns that the tiles of all of the block's rows have.
struct ColumnTile {
  llvm::Value* index;
  llvm::Value* first;            ///< in the output
  llvm::Value *columns, *valid;  ///< how many the tile has, and how many of them exist
  TileOfB b;
  llvm::Value* is_half;  ///< at most one vector of a panel exists
  llvm::Value* is_rest;  ///< dots compute its last columns
  llvm::Value* table;    ///< its main loops by rows
};

/// The share of the next columns that each row tile asks the memory for while it computes.
struct NextColumns {
  llvm::Value *are_asked, *share, *step;
};

/// A as the tiles of one column tile read it, copied or as it lies.
struct TileRowsOfA {
  llvm::Value *start, *stride;
  NextColumns next;
};

/// One iteration along m.
struct RowTile {
  TileRowsOfA all;
  llvm::Value* index;
  codegen::Part rows;  ///< its part of the block's rows
  llvm::Value* a;
  llvm::Value *c, *c_row;  ///< its sums, and elements from row to row; those of several right sides
                           ///< stand side by side in a row
  llvm::Value* is_split;   ///< they lie in memory of the run, for the second stage; else in scratch
};

ColumnTile locate_column_tile(const ContractionFunction& code, const Ticket& ticket,
                              const BlockOfK& block, llvm::Value* index);

/// Emits the row tiles of one column tile. What it is made from must outlive it.
class TileCode {
 public:
  TileCode(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block,
           const ColumnTile& columns)
      : code_(code),
        source_(code.source()),
        builder_(code.builder()),
        ticket_(ticket),
        block_(block),
        columns_(columns) {}

  TileRowsOfA locate_rows_of_a() const;
  /// The tiles whose epilogue is inlined, all at once; returns how many these were.
  llvm::Value* run_full_tiles(const TileRowsOfA& a) const;
  RowTile locate_row_tile(const TileRowsOfA& a, llvm::Value* index) const;

  /// Adds the products of the block of K; `is_last`: is_last_block().
  void emit_products(const RowTile& tile, llvm::Value* is_last) const;
  /// The tile's sums as the epilogue takes them.
  TileOutputs outputs_of(const RowTile& tile) const;
  llvm::Value* is_last_block() const;

 private:
  /// What dots multiply: copied rows of a block of K, or packed rows of the slice.
  struct DotFactors {
    llvm::Value *a, *a_row, *b, *k_size, *k_index;
  };

  NextColumns share_next_columns() const;
  FullTiles full_tiles(const TileRowsOfA& a) const;
  codegen::Part rows_of_tile(llvm::Value* index) const;
  llvm::Value* sums_of_slice(const codegen::Part& rows) const;
  llvm::Value* elements_to_next_columns() const;
  Ahead ahead_of_tile(const NextColumns& next, llvm::Value* tile) const;
  /// With the rows of the tile below.
  Ahead ahead_of_tile(const RowTile& tile) const;
  void call_main_loops(const RowTile& tile) const;
  void call_main_loops_of_sides(const RowTile& tile) const;
  void call_main_loop(const RowTile& tile, llvm::Value* table, const TileOfB& b, llvm::Value* c,
                      const Ahead& ahead) const;
  llvm::Value* columns_of_sums() const;
  llvm::Value* rows_of_next_tile(const RowTile& tile) const;
  DotFactors dot_factors(const RowTile& tile) const;
  void call_dot_loops(const RowTile& tile, const DotFactors& of, const RestSlots& group) const;
  llvm::Value* region_slot(int index) const { return code_.region_slot(ticket_.region, index); }

  const ContractionFunction& code_;
  const ContractionSource& source_;
  codegen::Builder& builder_;
  const Ticket& ticket_;
  const BlockOfK& block_;
  const ColumnTile& columns_;
};

}  // namespace dyn::cpu
