#pragma once
// The factors of a contraction on their way to shared memory: where each stands, and the copies of
// its tiles. Right sides lie side by side in the tile of B, each in an equal part of its columns.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/ptx/contraction/epilogue.hpp"
#include "targets/ptx/contraction/region.hpp"
#include "targets/ptx/copies/computed_copy.hpp"
#include "targets/ptx/copies/launch_values.hpp"
#include "targets/ptx/copies/moves.hpp"
#include "targets/ptx/copies/strip_copy.hpp"
#include "targets/ptx/copies/window_copy.hpp"

namespace dyn::ptx {

class FactorBands {
 public:
  /// `tile` is that of `kernel`; `leaf` reads what is copied. Throws Error(internal) for factors
  /// that are neither plain matrices, nor computed, nor windows as A, and for tiles that the tree
  /// does not move.
  FactorBands(KernelFrame& frame, const rkernel::RKernel& kernel, const choice::GpuTile& tile,
              const Leaf& leaf, const GpuContractionClass& shape_class);

  /// True where some copies are asynchronous, or some are not.
  bool asynchronous() const;
  bool synchronous() const;
  /// Computes each thread's part, at the builder's place; call it once. `values` must outlive it.
  void prepare(const LaunchValues& values);
  /// Goes to the bands of a block's outputs. `blocks`: its index along each axis of the grid;
  /// `step`, i32: the step to begin with, nullptr: the first. All threads of the block call this
  /// together.
  void enter(const BlockOutputs& outputs, const std::map<int, llvm::Value*>& blocks,
             llvm::Value* step);
  /// Where the copies stand, as values that loops carry; of the tiles after these.
  std::vector<llvm::Value*> positions() const;
  std::vector<llvm::Value*> next_positions() const;
  void set_positions(std::span<llvm::Value* const> positions);
  /// The bands and the positions in them, as values that loops over tiles of the output carry.
  std::vector<llvm::Value*> bands() const;
  void set_bands(std::span<llvm::Value* const> bands);
  /// Issues the copies of a move for step `step`, i32: that of B brings all right sides. `stage`:
  /// ptr addrspace(3) to the stage.
  void issue(const rkernel::Move& move, llvm::Value* step, llvm::Value* stage) const;
  /// Of issue(), what keeps no values in registers; and for what does, in both moves, its loads and
  /// its stores.
  void issue_at_once(const rkernel::Move& move, llvm::Value* step, llvm::Value* stage) const;
  bool keeps() const;
  std::vector<llvm::Value*> load_kept(llvm::Value* step) const;
  void store_kept(std::span<llvm::Value* const> loaded, llvm::Value* step,
                  llvm::Value* stage) const;

 private:
  /// Element (i, k) of a factor, i along m or n.
  struct Matrix {
    int operand = 0, across = 0;  ///< across: axis of i
    int stage_bytes = 0;          ///< from the start of a stage to its tile
    std::unique_ptr<OperandCopy> copy;
    llvm::Value *base = nullptr, *stride_i = nullptr;  ///< base: the address in batch 0
    OperandCopy::Position position = {};  ///< position of the tile that is to be copied next
  };
  std::unique_ptr<OperandCopy> copy_of(int operand, const SharedTile& tile, Copy copy,
                                       DepthAlong depth_along) const;
  std::unique_ptr<OperandCopy> computed_copy(int operand, const SharedTile& tile) const;
  void add_right_side(int operand, int side, const SharedTile& all, Copy copy);
  DType moved_dtype(int operand, const SharedTile& tile) const;
  bool is_moved_by(const Matrix& matrix, const rkernel::Move& move) const {
    return is_left(matrix) == (move.operand == contraction_.a);
  }
  llvm::Value* tile_of_stage(const Matrix& matrix, llvm::Value* stage) const;
  bool is_left(const Matrix& matrix) const { return matrix.operand == contraction_.a; }
  void prepare_matrix(Matrix& matrix, TileCopy& copy, llvm::Value* depth);
  void prepare_windows(Matrix& matrix, llvm::Value* depth);
  llvm::Value* offset_of(const Matrix& matrix, llvm::Value* first,
                         const std::map<int, llvm::Value*>& blocks) const;

  codegen::Builder& builder_;
  KernelFrame& frame_;
  const rkernel::RKernel& kernel_;
  const rkernel::Problem& problem_;
  const rkernel::Contraction& contraction_;
  const choice::GpuTile& tile_;
  const bool b_rows_are_k_;       ///< a row of the tile of B has one k
  std::vector<Matrix> matrices_;  ///< the left side, then the right ones
  const LaunchValues* values_ = nullptr;
};

}  // namespace dyn::ptx
