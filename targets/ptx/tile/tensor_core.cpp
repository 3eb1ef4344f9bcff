// Warps that multiply with mma.sync: the accumulators of a warp's tile are spread over its lanes;
// fragments come from swizzled tiles.

#include <bit>
#include <string>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/leaf.hpp"
#include "targets/ptx/tile/mma.hpp"
#include "targets/ptx/tile/tensor_core_loads.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuTile;
using choice::warp_lanes;
using codegen::Builder;
using Values = std::vector<llvm::Value*>;

// Warps that are a power of two wide begin at chunks whose low bits are 0 (SwizzledAddresses).
GpuTile legal(const GpuTile& tile) {
  const int step = choice::mma_depth(tile.operands);
  const bool steps = tile.block_k > 0 && tile.block_k % step == 0;
  const bool warps = tile.warp_m > 0 && tile.warp_m % tile.thread_m == 0 &&
                     tile.warp_n >= 2 * mma_columns &&
                     std::has_single_bit(static_cast<unsigned>(tile.warp_n));
  if (steps && warps && tile.block_m % tile.warp_m == 0 && tile.block_n % tile.warp_n == 0)
    return tile;
  throw Error(ErrorKind::internal,
              "tensor cores cannot multiply in tiles of " + tile.to_string() +
                  ": warps are multiples of 16 rows (of 8 with factors swapped) "
                  "and a power of two, 16 or more, of columns; block_k is a "
                  "multiple of " +
                  std::to_string(step));
}

class TensorCoreLeaf final : public Leaf {
 public:
  TensorCoreLeaf(const GpuTile& tile, Op instruction, BOrder b_order)
      : instruction_(instruction),
        tile_(legal(tile)),
        swapped_(is_swapped(tile)),
        steps_(tile_.block_k / choice::mma_depth(tile_.operands)),
        columns_(tile_, b_order),
        a_(make_a_loads(tile_)),
        b_(make_b_loads(tile_, b_order)) {}

  SharedTile a_tile() const override { return a_->tile(); }
  SharedTile b_tile() const override { return b_->tile(); }

  void prepare(Builder& builder) override {
    llvm::Value* thread = call(builder, Op::Thread);
    llvm::Value* lane = builder.CreateAnd(thread, number(builder, warp_lanes - 1));
    llvm::Value* warp = builder.CreateUDiv(thread, number(builder, warp_lanes));
    llvm::Value* warps_of_row = number(builder, tile_.block_n / tile_.warp_n);
    llvm::Value* warp_row =
        builder.CreateMul(builder.CreateUDiv(warp, warps_of_row), number(builder, tile_.warp_m));
    llvm::Value* warp_column = columns_.first(builder, builder.CreateURem(warp, warps_of_row));
    a_->prepare(builder, lane, warp_row);
    b_->prepare(builder, lane, warp_column);
    // Lane 4 * g + t.
    llvm::Value* g = builder.CreateUDiv(lane, number(builder, lanes_of_row));
    llvm::Value* t = builder.CreateAnd(lane, number(builder, lanes_of_row - 1));
    if (swapped_) {
      row_ = builder.CreateAdd(warp_row, builder.CreateMul(t, number(builder, 2)));
      column_ = builder.CreateAdd(warp_column, columns_.interleaved()
                                                   ? builder.CreateMul(g, number(builder, 2))
                                                   : spread(builder, g));
      return;
    }
    row_ = builder.CreateAdd(warp_row, g);
    column_ = builder.CreateAdd(warp_column,
                                columns_.interleaved()
                                    ? builder.CreateMul(t, number(builder, mma_accumulators))
                                    : spread(builder, builder.CreateMul(t, number(builder, 2))));
  }

  Values zeros(Builder& builder) override {
    return Values(static_cast<std::size_t>(tiles_m() * tiles_n() * mma_accumulators),
                  tile_.integers() ? llvm::Constant::getNullValue(builder.getInt32Ty())
                                   : llvm::Constant::getNullValue(builder.getFloatTy()));
  }

  Values multiply(Builder& builder, llvm::Value* a, llvm::Value* b,
                  std::span<llvm::Value* const> accumulators) override {
    const Addresses stage = addresses(builder, a, b);
    return multiply_steps(builder, stage, load(builder, stage, 0), accumulators, [] {});
  }

  Values first_fragments(Builder& builder, llvm::Value* a, llvm::Value* b) override {
    const Fragments first = load(builder, addresses(builder, a, b), 0);
    Values registers;
    for (const std::vector<Values>* tiles : {&first.rows, &first.columns})
      for (const Values& tile : *tiles) registers.insert(registers.end(), tile.begin(), tile.end());
    return registers;
  }

  Values multiply_ahead(Builder& builder, llvm::Value* a, llvm::Value* b,
                        std::span<llvm::Value* const> accumulators, Values& fragments,
                        const std::function<Values()>& next) override {
    return multiply_steps(builder, addresses(builder, a, b), in_tiles(fragments), accumulators,
                          [&] { fragments = next(); });
  }

  // Accumulators: instruction tiles row by row, in each of them the four of mma. Of interleaved
  // ones both rows of two tiles, four columns each. Swapped, those of 16 columns of the output
  // after the other; each has two rows of two columns, which are neighbours where they are
  // interleaved.
  Place place(Builder& builder, std::size_t index) const override {
    if (swapped_) return swapped_place(builder, static_cast<int>(index));
    const int within = static_cast<int>(index) % mma_accumulators,
              tile = static_cast<int>(index) / mma_accumulators;
    const int column = columns_.interleaved() ? tile % tiles_n() / 2 * 2 * mma_columns + within
                                              : columns_.start(tile % tiles_n()) + within % 2;
    return {builder.CreateAdd(row_, number(builder, first_row(index))),
            builder.CreateAdd(column_, number(builder, column))};
  }
  int first_row(std::size_t index) const override {
    if (swapped_) return static_cast<int>(index) / mma_accumulators % tiles_m() * mma_columns;
    const int within = static_cast<int>(index) % mma_accumulators,
              tile = static_cast<int>(index) / mma_accumulators;
    const int half = columns_.interleaved() ? tile % 2 : within / 2;
    return tile / tiles_n() * mma_rows + half * lower_rows;
  }
  int side_by_side() const override {
    if (swapped_) return columns_.interleaved() ? 2 : 1;
    return columns_.interleaved() ? mma_accumulators : mma_accumulators / 2;
  }

 private:
  struct Addresses {
    Values a, b;
  };
  /// Place of column `column` of an instruction's tile, of 8, among those of B: the ColumnMap's.
  llvm::Value* spread(Builder& builder, llvm::Value* column) const {
    llvm::Value* half = builder.CreateMul(builder.CreateLShr(column, number(builder, 2)),
                                          number(builder, columns_.spread()));
    return builder.CreateAdd(half, builder.CreateAnd(column, number(builder, 3)));
  }
  Place swapped_place(Builder& builder, int index) const {
    const int within = index % mma_accumulators, tile = index / mma_accumulators;
    const int sixteen = tile / tiles_m(), eight = tile % tiles_m();
    const bool interleaved = columns_.interleaved();
    const int row = eight * mma_columns + (interleaved ? within / 2 : within % 2);
    const int column =
        interleaved ? sixteen * mma_rows + within % 2 : columns_.start(2 * sixteen + within / 2);
    return {builder.CreateAdd(row_, number(builder, row)),
            builder.CreateAdd(column_, number(builder, column))};
  }
  /// Registers of one step of K, for each instruction's tile of the warp.
  struct Fragments {
    std::vector<Values> rows, columns;
  };
  Addresses addresses(Builder& builder, llvm::Value* a, llvm::Value* b) const {
    return {a_->addresses(builder, a), b_->addresses(builder, b)};
  }
  Fragments load(Builder& builder, const Addresses& stage, int step) const {
    std::vector<Values> a = a_->load(builder, stage.a, step), b = b_->load(builder, stage.b, step);
    if (swapped_) std::swap(a, b);
    return {std::move(a), std::move(b)};
  }
  Fragments in_tiles(std::span<llvm::Value* const> registers) const {
    Fragments fragments;
    const auto take = [&](std::vector<Values>& tiles, int count, std::size_t of_tile) {
      for (int i = 0; i < count; ++i, registers = registers.subspan(of_tile))
        tiles.emplace_back(registers.begin(), registers.begin() + of_tile);
    };
    take(fragments.rows, swapped_ ? tiles_n() : tiles_m(), mma_a_registers);
    take(fragments.columns, swapped_ ? tiles_m() : tiles_n(), mma_b_registers);
    return fragments;
  }

  // The fragments of a step are loaded while the one before it multiplies. K ascends.
  Values multiply_steps(Builder& builder, const Addresses& stage, Fragments current,
                        std::span<llvm::Value* const> accumulators,
                        const std::function<void()>& before_last) const {
    Values sums = by_tiles(accumulators);
    for (int step = 0; step < steps_; ++step) {
      Fragments next;
      if (step + 1 < steps_)
        next = load(builder, stage, step + 1);
      else
        before_last();
      multiply_fragments(builder, instruction_, current.rows, current.columns, sums);
      current = std::move(next);
    }
    return in_places(sums);
  }

  /// The index, in the order of tiles, of accumulator `index` of place(): column j of a row of two
  /// interleaved tiles is column j / 2 of tile j mod 2.
  std::size_t of_tiles(std::size_t index) const {
    if (!columns_.interleaved()) return index;
    if (swapped_) return index / 4 * 4 + index % 2 * 2 + index / 2 % 2;
    const std::size_t pair = index / 8 * 8, row = index / 4 % 2, column = index % 4;
    return pair + column % 2 * 4 + row * 2 + column / 2;
  }
  Values by_tiles(std::span<llvm::Value* const> places) const {
    Values tiles(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) tiles[of_tiles(i)] = places[i];
    return tiles;
  }
  Values in_places(const Values& tiles) const {
    Values places(tiles.size());
    for (std::size_t i = 0; i < tiles.size(); ++i) places[i] = tiles[of_tiles(i)];
    return places;
  }
  int tiles_m() const { return tile_.warp_m / tile_.thread_m; }
  int tiles_n() const { return tile_.warp_n / tile_.thread_n; }

  const Op instruction_;
  const GpuTile tile_;
  const bool swapped_;
  const int steps_;  ///< of K in one stage
  const ColumnMap columns_;
  const std::unique_ptr<FragmentLoads> a_, b_;
  llvm::Value *row_ = nullptr, *column_ = nullptr;
};

}  // namespace

std::unique_ptr<Leaf> make_tensor_core_leaf(const rkernel::RKernel& kernel, BOrder b_order) {
  const std::vector<rkernel::Move>& moves = kernel.layers.at(shared_layer).moves;
  const choice::GpuTile tile = tile_of(kernel);
  DType rows = moves.at(0).dtype, columns = moves.at(1).dtype;
  if (is_swapped(tile)) std::swap(rows, columns);
  return std::make_unique<TensorCoreLeaf>(tile, mma_instruction(rows, columns), b_order);
}

}  // namespace dyn::ptx
