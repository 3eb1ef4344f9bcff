#include "targets/ptx/attention/products.hpp"

#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/fma_tile.hpp"
#include "targets/ptx/tile/mma.hpp"
#include "targets/ptx/tile/tensor_core_loads.hpp"

namespace dyn::ptx {
namespace {

using choice::Engine;
using choice::GpuAttentionTile;
using codegen::Builder;

/// CUDA cores: lanes of a warp stand in rows of so many.
constexpr int grid_columns = 8, grid_rows = 4;

}  // namespace

ScorePlaces::ScorePlaces(const GpuAttentionTile& tile)
    : tensor_(tile.engine == Engine::TensorCores),
      rows_(tile.thread_rows()),
      row_step_(tensor_ ? lower_rows : grid_rows),
      row_lanes_(tensor_ ? lanes_of_row : grid_columns),
      score_columns_(tile.part_keys / row_lanes_),
      width_columns_(tile.width / row_lanes_) {}

// Tensor cores: instruction tiles one after the other, each with two columns of both rows.
int ScorePlaces::row_of(std::size_t index, int columns) const {
  const int i = static_cast<int>(index);
  return tensor_ ? i % mma_accumulators / 2 : i / columns;
}

int ScorePlaces::score_column(std::size_t index) const {
  const int i = static_cast<int>(index);
  if (tensor_) return i / mma_accumulators * mma_columns + i % 2;
  return i % score_columns_ * grid_columns;
}

int ScorePlaces::accumulator_column(std::size_t index) const {
  const int i = static_cast<int>(index);
  if (tensor_) return i / mma_accumulators * mma_columns + i % 2;
  const int j = i % width_columns_;
  return j / vector_floats * vector_floats * grid_columns + j % vector_floats;
}

void AttentionProducts::prepare(Builder& builder, llvm::Value* thread, llvm::Value*) {
  lane_ = builder.CreateAnd(thread, number(builder, choice::warp_lanes - 1));
  llvm::Value* warp = builder.CreateUDiv(thread, number(builder, choice::warp_lanes));
  part_ = builder.CreateURem(warp, number(builder, tile_.parts));
  warp_row_ = builder.CreateMul(builder.CreateUDiv(warp, number(builder, tile_.parts)),
                                number(builder, tile_.warp_m));
  llvm::Value* lanes = number(builder, places_.row_lanes());
  llvm::Value* within = builder.CreateURem(lane_, lanes);
  const bool tensor = tile_.engine == Engine::TensorCores;
  row_ = builder.CreateAdd(warp_row_, builder.CreateUDiv(lane_, lanes));
  key_ = builder.CreateAdd(builder.CreateMul(part_, number(builder, tile_.part_keys)),
                           builder.CreateMul(within, number(builder, tensor ? 2 : 1)));
  column_ = builder.CreateMul(within, number(builder, tensor ? 2 : vector_floats));
}

AttentionProducts::Values AttentionProducts::zeros(Builder& builder) const {
  return Values(places_.accumulators(), llvm::ConstantFP::get(builder.getFloatTy(), 0));
}

llvm::Value* AttentionProducts::row(Builder& builder, int row) const {
  return builder.CreateAdd(row_, number(builder, row * places_.row_step()));
}

llvm::Value* AttentionProducts::key(Builder& builder, std::size_t score) const {
  return builder.CreateAdd(key_, number(builder, places_.score_column(score)));
}

llvm::Value* AttentionProducts::first_of_row(Builder& builder) const {
  return builder.CreateICmpEQ(builder.CreateURem(lane_, number(builder, places_.row_lanes())),
                              number(builder, 0));
}

OutputPlaces::Place AttentionProducts::place(Builder& builder, std::size_t index) const {
  return {row(builder, places_.row_of_accumulator(index)),
          builder.CreateAdd(column_, number(builder, places_.accumulator_column(index)))};
}

std::unique_ptr<AttentionProducts> make_attention_products(const GpuAttentionTile& tile) {
  return tile.engine == Engine::TensorCores ? make_tensor_core_attention(tile)
                                            : make_cuda_core_attention(tile);
}

}  // namespace dyn::ptx
