#pragma once
// Emits IR that copies an operand's tile from global to shared memory.

#include <functional>
#include <optional>
#include <vector>

#include "targets/ptx/copies/operand_copy.hpp"
#include "targets/ptx/tile/shared_tile.hpp"

namespace dyn::ptx {

/// The direction of the reduction in a tile.
enum class DepthAlong : unsigned char { Rows, Columns };

/// The copies that the threads of a block make together for one tile. What does not exist is 0 in
/// shared memory, and is never read.
///
/// A thread goes through its part of a tile in equal steps. Where the whole tile exists it goes
/// from a pointer that moves from tile to tile, and asks nothing; only at the edges of the matrix
/// is every copy compared with what exists. What is converted is then taken four elements at a
/// time, if the source's rows are aligned for that.
class TileCopy final : public OperandCopy {
 public:
  TileCopy(const SharedTile& tile, const PieceCopies& copies, int threads, DepthAlong depth_along);

  /// Computes the thread's part, at the builder's place. Strides of the source in elements, i64;
  /// chunks need 1 between columns. `depth`: the extent of the reduction, i64.
  void prepare(codegen::Builder& builder, llvm::Value* thread, llvm::Value* row_stride,
               llvm::Value* column_stride, llvm::Value* depth);
  /// Emits how far a row of the tile (i32, which need not exist) lies from the band's origin:
  /// elements, i64.
  using RowDistance = std::function<llvm::Value*(llvm::Value* row)>;
  /// The same where rows are not equally far apart; the reduction runs along columns.
  void prepare(codegen::Builder& builder, llvm::Value* thread, RowDistance distance,
               llvm::Value* column_stride, llvm::Value* depth);
  /// A position is the address of the band's tile.
  Position enter(codegen::Builder& builder, const TileBand& band) override;
  std::vector<llvm::Value*> band() const override;
  void set_band(std::span<llvm::Value* const> values) override;
  Position next(codegen::Builder& builder, const Position& position) const override;
  void issue(codegen::Builder& builder, const Position& position, llvm::Value* step,
             llvm::Value* destination) const override;

 private:
  struct Unit {
    llvm::Value *row, *column;
  };
  /// The thread's units of a whole tile, each a fixed distance after the one before.
  struct Walk {
    llvm::Value *first,
        *step;  ///< byte offset in the source of the first, and from one to the next: i64
    std::vector<llvm::Value*>
        places;           ///< byte offsets of the first ones in the tile, i32; then they repeat,
    llvm::Value* turn;    ///< so much further each time: i32
    llvm::Value* usable;  ///< i1: neighbouring threads copy neighbours in memory; nullptr: always
  };
  /// The existing part of a tile, i32.
  struct Extents {
    llvm::Value *rows, *columns;
  };
  int units(int in_row) const { return tile_.rows * in_row; }
  int copies(int in_row) const;
  int straight_copies(int in_row) const;
  int elements_walked() const;
  int walked_in_row() const;
  int depth_of_tile() const;
  Unit unit_at(codegen::Builder& builder, llvm::Value* index) const;
  // The index, in the order of threads, of unit number `copy` of the thread that begins with unit
  // `first`.
  llvm::Value* index_of(codegen::Builder& builder, llvm::Value* first, int copy) const;
  llvm::Value* inside(codegen::Builder& builder, llvm::Value* first, int copy, int in_row) const;
  llvm::Value* place_of(codegen::Builder& builder, const Unit& unit) const;
  llvm::Value* source_of(codegen::Builder& builder, const Unit& unit) const;
  std::optional<Walk> walk_down(codegen::Builder& builder) const;
  llvm::Value* walks_down(codegen::Builder& builder) const;
  std::optional<Walk> walk_either_way(codegen::Builder& builder) const;

  /// Bytes from one tile of a band to the next, i64.
  llvm::Value* step_bytes(codegen::Builder& builder) const;
  Extents existing(codegen::Builder& builder, llvm::Value* step) const;
  llvm::Value* existing_bytes(codegen::Builder& builder, const Extents& extents,
                              const Unit& chunk) const;
  /// `extents`: those of a tile at the matrix's edge, whose units are chunks; nullptr: all exists.
  void copy_walking(codegen::Builder& builder, llvm::Value* position, llvm::Value* destination,
                    const Extents* extents) const;
  std::vector<Piece> walk(codegen::Builder& builder, llvm::Value* from, llvm::Value* destination,
                          llvm::Value* first, const Extents* extents) const;
  void copy_singly(codegen::Builder& builder, llvm::Value* position, llvm::Value* destination,
                   const Extents& extents) const;
  Piece piece_at(codegen::Builder& builder, const Extents& extents, llvm::Value* position,
                 llvm::Value* destination, llvm::Value* first, int copy) const;

  SharedTile tile_;
  int threads_;
  DepthAlong depth_along_;
  int units_in_row_;  ///< chunks or elements
  llvm::Value* thread_ = nullptr;
  llvm::Value *row_bytes_ = nullptr,
              *column_bytes_ = nullptr;  ///< distance from one to the next in the source, i64
  RowDistance distance_;                 ///< none: rows are row_bytes_ apart
  llvm::Value* along_rows_ = nullptr;  ///< neighbouring threads take neighbouring rows, since those
                                       ///< are neighbours in memory
  llvm::Value* depth_ = nullptr;
  std::optional<Walk> walk_;            ///< none: the thread's units are not equally far apart
  llvm::Value* whole_steps_ = nullptr;  ///< steps of the band, i32: tiles before this one exist as
                                        ///< a whole and are copied with fixed steps
  llvm::Value* across_ = nullptr;
};

}  // namespace dyn::ptx
