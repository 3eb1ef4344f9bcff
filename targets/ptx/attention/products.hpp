#pragma once
// The two products of attention on the tiles of one step in shared memory, by the warps of a block:
// scores of queries with keys, and shares times values. One implementation for each engine.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "src/choice/gpu/attention.hpp"
#include "targets/ptx/tile/leaf.hpp"
#include "targets/ptx/tile/shared_tile.hpp"

namespace dyn::ptx {

/// A thread's scores and accumulators: constants that follow from the tile.
class ScorePlaces {
 public:
  explicit ScorePlaces(const choice::GpuAttentionTile& tile);
  /// The thread has so many rows, row_step apart; `row_lanes` neighbouring lanes share them.
  int rows() const { return rows_; }
  int row_step() const { return row_step_; }
  int row_lanes() const { return row_lanes_; }
  std::size_t scores() const { return static_cast<std::size_t>(rows_ * score_columns_); }
  std::size_t accumulators() const { return static_cast<std::size_t>(rows_ * width_columns_); }
  /// Which of the thread's rows a score or an accumulator belongs to.
  int row_of_score(std::size_t index) const { return row_of(index, score_columns_); }
  int row_of_accumulator(std::size_t index) const { return row_of(index, width_columns_); }
  /// Columns from the thread's first one.
  int score_column(std::size_t index) const;
  int accumulator_column(std::size_t index) const;

 private:
  int row_of(std::size_t index, int columns) const;

  bool tensor_;
  int rows_, row_step_, row_lanes_, score_columns_, width_columns_;
};

class AttentionProducts : public OutputPlaces {
 public:
  using Values = std::vector<llvm::Value*>;

  explicit AttentionProducts(const choice::GpuAttentionTile& tile) : tile_(tile), places_(tile) {}

  /// block_m rows of d; block_keys() rows of d; block_keys() rows of the values.
  virtual SharedTile query_tile() const = 0;
  virtual SharedTile key_tile() const = 0;
  virtual SharedTile value_tile() const = 0;
  /// Computes, at the builder's place, where the thread stands in its block. `shares`:
  /// share_bytes() of shared memory.
  virtual void prepare(codegen::Builder& builder, llvm::Value* thread, llvm::Value* shares);
  /// Scores of the warp's rows with the keys of its part, unscaled, f32. The tiles have zeros where
  /// nothing exists.
  virtual Values scores(codegen::Builder& builder, llvm::Value* queries, llvm::Value* keys) = 0;
  /// accumulators + shares * values.
  virtual Values add_values(codegen::Builder& builder, const Values& shares, llvm::Value* values,
                            const Values& accumulators) = 0;

  const choice::GpuAttentionTile& tile() const { return tile_; }
  const ScorePlaces& places() const { return places_; }
  Values zeros(codegen::Builder& builder) const;
  llvm::Value* part() const { return part_; }  ///< i32: of the keys
  /// The thread's row `row`, within the block, i32.
  llvm::Value* row(codegen::Builder& builder, int row) const;
  /// The key of a score, within the tile of keys, i32.
  llvm::Value* key(codegen::Builder& builder, std::size_t score) const;
  /// An i1: this is the first of the lanes that share rows.
  llvm::Value* first_of_row(codegen::Builder& builder) const;
  Place place(codegen::Builder& builder, std::size_t index) const override;

 protected:
  const choice::GpuAttentionTile tile_;
  const ScorePlaces places_;
  llvm::Value *lane_ = nullptr, *part_ = nullptr;
  llvm::Value *row_ = nullptr, *key_ = nullptr, *column_ = nullptr;  ///< the thread's first ones
  llvm::Value* warp_row_ = nullptr;
};

std::unique_ptr<AttentionProducts> make_attention_products(const choice::GpuAttentionTile& tile);
/// Those of one engine, for make_attention_products().
std::unique_ptr<AttentionProducts> make_tensor_core_attention(const choice::GpuAttentionTile& tile);
std::unique_ptr<AttentionProducts> make_cuda_core_attention(const choice::GpuAttentionTile& tile);

}  // namespace dyn::ptx
