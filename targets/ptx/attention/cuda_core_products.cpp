// Products of attention by fused multiply-adds: 4 x 8 lanes of a warp, of which each has rows a
// multiple of 4 apart, keys a multiple of 8 apart, and vectors of four columns of the values.

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/attention/products.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/fma_tile.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuAttentionTile;
using codegen::Builder;

constexpr int share_float_bytes = 4, vector_bytes_of_floats = vector_floats * share_float_bytes;
constexpr int lanes_in_row = 8, every_lane = -1;

class CudaCoreProducts final : public AttentionProducts {
 public:
  explicit CudaCoreProducts(const GpuAttentionTile& tile) : AttentionProducts(tile) {
    if (tile.operands == DType::f32 && tile.depth % vector_floats == 0 &&
        tile.width % (lanes_in_row * vector_floats) == 0 && tile.part_keys % lanes_in_row == 0)
      return;
    throw Error(ErrorKind::internal,
                "CUDA cores have no attention in tiles of " + tile.to_string());
  }

  SharedTile query_tile() const override { return padded(tile_.block_m, tile_.depth); }
  SharedTile key_tile() const override { return padded(tile_.block_keys(), tile_.depth); }
  SharedTile value_tile() const override { return padded(tile_.block_keys(), tile_.width); }
  int side_by_side() const override { return vector_floats; }

  void prepare(Builder& builder, llvm::Value* thread, llvm::Value* shares) override {
    AttentionProducts::prepare(builder, thread, shares);
    shares_ = at_byte(builder, shares,
                      builder.CreateMul(row_, number(builder, share_tile().stride_bytes())));
  }

  // d ascends, and each score has one accumulator.
  Values scores(Builder& builder, llvm::Value* queries, llvm::Value* keys) override {
    queries = at_byte(builder, queries,
                      builder.CreateMul(row_, number(builder, query_tile().stride_bytes())));
    keys =
        at_byte(builder, keys, builder.CreateMul(key_, number(builder, key_tile().stride_bytes())));
    Values sums(places_.scores(), llvm::ConstantFP::get(builder.getFloatTy(), 0));
    const int straight = straight_depth();
    if (straight == tile_.depth) {
      add_scores(builder, queries, keys, straight, sums);
      return sums;
    }
    codegen::CountedLoop steps(builder, number(builder, 0), number(builder, tile_.depth),
                               number(builder, straight), "depth", sums);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = steps.carried(i);
    llvm::Value* bytes = builder.CreateMul(steps.index(), number(builder, share_float_bytes));
    add_scores(builder, at_byte(builder, queries, bytes), at_byte(builder, keys, bytes), straight,
               sums);
    return steps.close(sums);
  }

  // Shares of a warp's rows and keys are written and read by that warp alone.
  Values add_values(Builder& builder, const Values& shares, llvm::Value* values,
                    const Values& accumulators) override {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const int row = places_.row_of_score(i) * places_.row_step() * share_tile().stride_bytes();
      llvm::Value* place =
          builder.CreateAdd(builder.CreateMul(key(builder, i), number(builder, share_float_bytes)),
                            number(builder, row));
      builder.CreateAlignedStore(shares[i], at_byte(builder, shares_, place), llvm::Align(4));
    }
    call(builder, Op::WarpSync, {number(builder, every_lane)});
    llvm::Value* first_key = builder.CreateMul(part_, number(builder, tile_.part_keys));
    llvm::Value* a =
        at_byte(builder, shares_, builder.CreateMul(first_key, number(builder, share_float_bytes)));
    llvm::Value* b = builder.CreateAdd(
        builder.CreateMul(first_key, number(builder, value_tile().stride_bytes())),
        builder.CreateMul(column_, number(builder, share_float_bytes)));
    const FmaTile outputs{.rows = places_.rows(),
                          .columns = tile_.width / lanes_in_row,
                          .row_step = places_.row_step(),
                          .lane_columns = lanes_in_row,
                          .vector = vector_floats,
                          .depth = tile_.part_keys,
                          .a_row_bytes = share_tile().stride_bytes(),
                          .b_row_bytes = value_tile().stride_bytes()};
    return outputs.multiply(builder, a, at_byte(builder, values, b), accumulators);
  }

 private:
  static SharedTile padded(int rows, int columns) {
    return {rows, columns * share_float_bytes, chunk_bytes, false};
  }
  SharedTile share_tile() const {
    return {tile_.block_m, tile_.block_keys() * share_float_bytes,
            choice::share_padding * share_float_bytes, false};
  }

  /// Code without a loop multiplies so much of d: a divisor of what the tile has, with few enough
  /// loads that registers remain for the accumulators.
  int straight_depth() const {
    constexpr int loaded_floats = 64;
    int straight = std::clamp(loaded_floats / (places_.rows() + tile_.part_keys / lanes_in_row) /
                                  vector_floats * vector_floats,
                              vector_floats, tile_.depth);
    while (tile_.depth % straight != 0) straight -= vector_floats;
    return straight;
  }

  void add_scores(Builder& builder, llvm::Value* queries, llvm::Value* keys, int depth,
                  Values& sums) const {
    const int columns = tile_.part_keys / lanes_in_row;
    for (int first = 0; first < depth; first += vector_floats) {
      const int byte = first / vector_floats * vector_bytes_of_floats;
      std::vector<Values> rows;
      for (int i = 0; i < places_.rows(); ++i)
        rows.push_back(load_floats(builder, queries,
                                   i * places_.row_step() * query_tile().stride_bytes() + byte,
                                   vector_floats));
      for (int j = 0; j < columns; ++j) {
        const Values key = load_floats(
            builder, keys, j * lanes_in_row * key_tile().stride_bytes() + byte, vector_floats);
        for (int i = 0; i < places_.rows(); ++i)
          add_products(builder, rows[static_cast<std::size_t>(i)], key,
                       sums[static_cast<std::size_t>(i * columns + j)]);
      }
    }
  }

  static void add_products(Builder& builder, const Values& query, const Values& key,
                           llvm::Value*& sum) {
    for (std::size_t step = 0; step < query.size(); ++step)
      sum = builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getFloatTy()},
                                    {query[step], key[step], sum});
  }

  llvm::Value* shares_ = nullptr;  ///< the thread's first row
};

}  // namespace

std::unique_ptr<AttentionProducts> make_cuda_core_attention(const GpuAttentionTile& tile) {
  return std::make_unique<CudaCoreProducts>(tile);
}

}  // namespace dyn::ptx
