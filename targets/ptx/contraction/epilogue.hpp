#pragma once
// Stores the outputs of a block after the reduction: through shared memory to neighbouring threads,
// which compute the group's expressions and store.

#include <functional>
#include <optional>
#include <span>

#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/ptx/tile/leaf.hpp"

namespace dyn::ptx {

/// The outputs of one block.
struct BlockOutputs {
  llvm::Value *m, *n;           ///< its first row and column, i64
  llvm::Value *rows, *columns;  ///< how many exist, i32, no more than the block has
};

/// Rows of a block that are not indices along m alone: the axes that they count, and what sets the
/// indices along them for a row of the block, i32, which need not exist.
struct OutputRows {
  codegen::AxisSet axes = 0;
  std::function<void(codegen::Operands& operands, llvm::Value* row)> set_indices;
};

/// The tile of f32, or i32, in shared memory through which a block's outputs go.
struct OutputTile {
  int m = 0, n = 0;           ///< axes of its rows and columns
  int rows = 0, columns = 0;  ///< of the block
  int sides = 1;              ///< sums of each output: `columns` of one after those of another
  int row_floats = 0;         ///< from one row to the next
  int threads = 0;            ///< of the block
  bool integers = false;      ///< of i32
  int bands = 1;      ///< GpuTile::output_bands(): the tile has `rows` / `bands` rows at a time,
  int warp_rows = 0;  ///< equal parts of every so many rows of the block
  OutputRows counted = {};  ///< without axes: rows are indices along m from the block's first on
};

/// The group's expressions and stores for so many outputs side by side: 1, or output_lanes of
/// aligned operands.
struct OutputLanes {
  codegen::Operands& operands;
  codegen::ExprCompiler& compiler;
};

class Epilogue {
 public:
  Epilogue(codegen::Builder& builder, const rkernel::Problem& problem, const OutputTile& tile,
           const OutputLanes& single)
      : builder_(builder), problem_(problem), tile_(tile), single_(single) {}

  /// Outputs are computed and stored in vectors where `usable`, an i1, is true; nullptr: always.
  void set_vectors(const OutputLanes& vectors, llvm::Value* usable) {
    vectors_.emplace(vectors);
    usable_ = usable;
  }

  /// All threads of the block call this, after they have left the stages that lie at `shared`;
  /// afterwards the memory is free again.
  void emit(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
            llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs);

  /// The parts of emit(), for outputs that several threads sum up. A thread stores its
  /// accumulators, or adds them to what lies there.
  enum class Publish : unsigned char { Store, Add };
  void publish(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
               llvm::Value* shared, Publish how = Publish::Store);
  /// From the published outputs on; begins and ends with a barrier.
  void emit_published(llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs);

 private:
  codegen::AxisSet row_axes() const {
    return tile_.counted.axes != 0 ? tile_.counted.axes : codegen::axis_bit(tile_.m);
  }
  void set_row(codegen::Operands& operands, const BlockOutputs& outputs, llvm::Value* row);
  llvm::Type* sum_type(int width);
  llvm::ConstantInt* number(int value) {
    return builder_.getInt32(static_cast<std::uint32_t>(value));
  }
  /// `width` accumulators side by side.
  llvm::Value* published(llvm::Value* shared, llvm::Value* row, llvm::Value* column, int width);
  llvm::Value* place(llvm::Value* shared, llvm::Value* row, llvm::Value* column);
  /// Publishes those of the accumulators that lie in a band, at their rows in it.
  void publish_band(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                    llvm::Value* shared, int band);
  void emit_bands(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                  llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs);
  int band_rows() const { return tile_.warp_rows / tile_.bands; }
  /// How many rows of the band exist, where the block has `rows`; they are its first ones.
  llvm::Value* rows_in_band(llvm::Value* rows);
  /// The row of the block that is `row` in the band.
  llvm::Value* row_of_block(llvm::Value* row);
  /// Accumulators side by side, from number `index` on, as they are stored at once.
  llvm::Value* joined(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                      std::size_t index);
  void emit_columns(const OutputLanes& lanes, llvm::Value* shared, llvm::Value* thread,
                    const BlockOutputs& outputs);
  void emit_rows(const OutputLanes& lanes, llvm::Value* shared, llvm::Value* column,
                 llvm::Value* first_row, int row_step, const BlockOutputs& outputs);

  codegen::Builder& builder_;
  const rkernel::Problem& problem_;
  const OutputTile tile_;
  const OutputLanes single_;
  std::optional<OutputLanes> vectors_;
  llvm::Value* usable_ = nullptr;
  llvm::Value* band_ = nullptr;  ///< i32; nullptr: there is one
};

}  // namespace dyn::ptx
