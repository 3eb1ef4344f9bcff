// Products of attention by mma.sync. The accumulators of the scores are, once they are shares, the
// fragments of the second product (FlashAttention-2): nothing passes through shared memory.

#include "dyn/error.hpp"
#include "targets/ptx/attention/products.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/mma.hpp"
#include "targets/ptx/tile/tensor_core_loads.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuAttentionTile;
using choice::GpuTile;
using codegen::Builder;

int element_size(const GpuAttentionTile& tile) { return static_cast<int>(size_of(tile.operands)); }

GpuAttentionTile checked(const GpuAttentionTile& tile) {
  const int step = k_step_bytes / element_size(tile);
  if (tile.warp_m == mma_rows && tile.part_keys % 16 == 0 && tile.depth % step == 0 &&
      tile.width % 32 == 0)
    return tile;
  throw Error(ErrorKind::internal,
              "tensor cores have no attention in tiles of " + tile.to_string());
}

/// The product of queries with keys, as one of a contraction.
GpuTile score_tile(const GpuAttentionTile& tile) {
  GpuTile made;
  made.engine = choice::Engine::TensorCores;
  made.operands = tile.operands;
  made.thread_m = mma_rows;
  made.thread_n = mma_columns;
  made.warp_m = mma_rows;
  made.warp_n = tile.part_keys;
  made.block_m = tile.block_m;
  made.block_n = tile.block_keys();
  made.block_k = tile.depth;
  return made;
}

SharedTile swizzled_values(const GpuAttentionTile& tile) {
  return {.rows = tile.block_keys(),
          .row_bytes = tile.width * element_size(tile),
          .padding_bytes = 0,
          .swizzled = true};
}

class TensorCoreProducts final : public AttentionProducts {
 public:
  explicit TensorCoreProducts(const GpuAttentionTile& tile)
      : AttentionProducts(checked(tile)),
        instruction_(mma_instruction(tile.operands)),
        query_loads_(make_a_loads(score_tile(tile))),
        key_loads_(make_b_loads(score_tile(tile), BOrder::RowsAlongK)),
        value_loads_(make_chained_b_loads(swizzled_values(tile), tile.operands, tile.width)) {}

  SharedTile query_tile() const override { return query_loads_->tile(); }
  SharedTile key_tile() const override { return key_loads_->tile(); }
  SharedTile value_tile() const override { return value_loads_->tile(); }
  int side_by_side() const override { return mma_accumulators / 2; }

  void prepare(Builder& builder, llvm::Value* thread, llvm::Value* shares) override {
    AttentionProducts::prepare(builder, thread, shares);
    query_loads_->prepare(builder, lane_, warp_row_);
    key_loads_->prepare(builder, lane_, number(builder, 0));
    value_loads_->prepare(builder, lane_, number(builder, 0));
  }

  Values scores(Builder& builder, llvm::Value* queries, llvm::Value* keys) override {
    const Values q = query_loads_->addresses(builder, queries),
                 k = key_loads_->addresses(builder, part_of(builder, keys, key_tile()));
    Values sums(places_.scores(), llvm::ConstantFP::get(builder.getFloatTy(), 0));
    const int steps = tile_.depth * element_size(tile_) / k_step_bytes;
    for (int step = 0; step < steps; ++step) {
      multiply_fragments(builder, instruction_, query_loads_->load(builder, q, step),
                         key_loads_->load(builder, k, step), sums);
    }
    return sums;
  }

  Values add_values(Builder& builder, const Values& shares, llvm::Value* values,
                    const Values& accumulators) override {
    const Values v = value_loads_->addresses(builder, part_of(builder, values, value_tile()));
    Values sums = accumulators;
    const int steps = tile_.part_keys * element_size(tile_) / k_step_bytes;
    for (int step = 0; step < steps; ++step)
      multiply_fragments(builder, instruction_, {fragment(builder, shares, step)},
                         value_loads_->load(builder, v, step), sums);
    return sums;
  }

 private:
  /// The first row of the warp's part of a tile: a whole number of periods of the swizzle.
  llvm::Value* part_of(Builder& builder, llvm::Value* stage, const SharedTile& tile) const {
    return at_byte(
        builder, stage,
        builder.CreateMul(part_, number(builder, tile_.part_keys * tile.stride_bytes())));
  }

  /// Shares of one k step as A of mma: rows g and g + 8 of the first 8 bytes of K for this lane,
  /// then of the second. A step of TF32 is one tile of 8 scores, whose neighbours are 4 apart in
  /// it (make_chained_b_loads); one of 16-bit elements is two such tiles.
  Values fragment(Builder& builder, const Values& shares, int step) const {
    if (tile_.operands == DType::f32) {
      const std::size_t first = static_cast<std::size_t>(step) * mma_accumulators;
      return {tf32(builder, shares[first]), tf32(builder, shares[first + 2]),
              tf32(builder, shares[first + 1]), tf32(builder, shares[first + 3])};
    }
    const std::size_t first = static_cast<std::size_t>(step) * 2 * mma_accumulators;
    Values words;
    for (std::size_t pair = 0; pair < mma_accumulators; ++pair)
      words.push_back(pair_of(builder, shares[first + 2 * pair], shares[first + 2 * pair + 1]));
    return words;
  }

  /// mma ignores the low 13 bits; shares are not negative, and at most 1.
  static llvm::Value* tf32(Builder& builder, llvm::Value* share) {
    constexpr int half_of_last_bit = 1 << 12;
    return builder.CreateAdd(builder.CreateBitCast(share, builder.getInt32Ty()),
                             number(builder, half_of_last_bit));
  }

  llvm::Value* pair_of(Builder& builder, llvm::Value* low, llvm::Value* high) const {
    const Op round = tile_.operands == DType::f16 ? Op::ToF16 : Op::ToBf16;
    llvm::Type* pair = llvm::FixedVectorType::get(builder.getInt16Ty(), 2);
    llvm::Value* both = builder.CreateInsertElement(llvm::PoisonValue::get(pair),
                                                    call(builder, round, {low}), std::uint64_t{0});
    both = builder.CreateInsertElement(both, call(builder, round, {high}), std::uint64_t{1});
    return builder.CreateBitCast(both, builder.getInt32Ty());
  }

  const Op instruction_;
  const std::unique_ptr<FragmentLoads> query_loads_, key_loads_, value_loads_;
};

}  // namespace

std::unique_ptr<AttentionProducts> make_tensor_core_attention(const GpuAttentionTile& tile) {
  return std::make_unique<TensorCoreProducts>(tile);
}

}  // namespace dyn::ptx
