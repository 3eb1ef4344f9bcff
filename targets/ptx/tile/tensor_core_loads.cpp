#include "targets/ptx/tile/tensor_core_loads.hpp"

#include <algorithm>
#include <utility>

#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuTile;
using codegen::Builder;
using Values = std::vector<llvm::Value*>;

/// Rows, and chunks of a row, in which a swizzle repeats: it depends on row mod 8, and changes the
/// low 3 bits of a chunk's index only.
constexpr int swizzle_period = 8;
constexpr int step_chunks = k_step_bytes / chunk_bytes;
constexpr int word_bytes = 4, chunk_words = chunk_bytes / word_bytes;

/// Addresses of chunks that are a constant number of rows and chunks away from the lane's own.
/// Rows: multiples of 8. Chunks: where the bits of the constant are 0 in the lane's own chunk,
/// adding it is an exclusive or, which commutes with the swizzle, another exclusive or. So one
/// register is kept for each value of the low 3 bits, and the bits above them are a constant number
/// of bytes.
class SwizzledAddresses {
 public:
  /// `chunks`: the largest constant; `every`: all constants are multiples of it.
  SwizzledAddresses(const SharedTile& tile, int chunks, int every)
      : tile_(tile),
        every_(every),
        variants_((std::min(chunks, swizzle_period) + every - 1) / every) {}

  void prepare(Builder& builder, llvm::Value* row, llvm::Value* chunk, llvm::Value* byte) {
    offsets_.clear();
    for (int variant = 0; variant < variants_; ++variant) {
      llvm::Value* moved = builder.CreateXor(chunk, number(builder, variant * every_));
      offsets_.push_back(builder.CreateAdd(tile_.chunk_offset(builder, row, moved), byte));
    }
  }
  Values at(Builder& builder, llvm::Value* stage) const {
    Values addresses;
    for (llvm::Value* bytes : offsets_) addresses.push_back(at_byte(builder, stage, bytes));
    return addresses;
  }
  /// `addresses` begin with those of at().
  llvm::Value* of(Builder& builder, std::span<llvm::Value* const> addresses, int rows,
                  int chunks) const {
    const int residue = chunks % swizzle_period;
    const int bytes = rows * tile_.stride_bytes() + (chunks - residue) * chunk_bytes;
    return at_byte(builder, addresses[static_cast<std::size_t>(residue / every_)],
                   number(builder, bytes));
  }
  std::size_t size() const { return static_cast<std::size_t>(variants_); }

 private:
  SharedTile tile_;
  int every_, variants_;
  Values offsets_;
};

/// The order of the four 8 x 8 matrices of one ldmatrix, 16 rows and 2 chunks: mma wants a
/// fragment's registers to be neighbours, or they are copied one by one.
enum class MatrixOrder {
  RowsFirst,    ///< rows 0 to 7 and 8 to 15 of the first chunk, then of the second
  ChunksFirst,  ///< both chunks of rows 0 to 7, then of rows 8 to 15
  EightRows     ///< two matrices: both chunks of rows 0 to 7
};

/// Four matrices at once: each lane names one row of one of them.
class MatrixLoads : public FragmentLoads {
 public:
  MatrixLoads(const SharedTile& tile, int chunks, MatrixOrder order)
      : tile_(tile), order_(order), addresses_(tile, chunks, step_chunks) {}
  SharedTile tile() const override { return tile_; }
  Values addresses(Builder& builder, llvm::Value* stage) const override {
    return addresses_.at(builder, stage);
  }

 protected:
  void prepare_at(Builder& builder, llvm::Value* lane, llvm::Value* row, llvm::Value* chunk) {
    const auto bit = [&](int at) {
      return builder.CreateAnd(builder.CreateLShr(lane, number(builder, at)), number(builder, 1));
    };
    const bool rows_first = order_ == MatrixOrder::RowsFirst;
    llvm::Value* within = builder.CreateAnd(lane, number(builder, matrix_rows - 1));
    llvm::Value* lane_row = builder.CreateAdd(row, within);
    if (order_ != MatrixOrder::EightRows) {
      lane_row = builder.CreateAdd(
          lane_row, builder.CreateMul(bit(rows_first ? 3 : 4), number(builder, matrix_rows)));
    }
    addresses_.prepare(builder, lane_row, builder.CreateAdd(chunk, bit(rows_first ? 4 : 3)),
                       number(builder, 0));
  }
  Values load_matrices(Builder& builder, Op op, const Values& addresses, int rows,
                       int chunks) const {
    return results(builder, call(builder, op, {addresses_.of(builder, addresses, rows, chunks)}));
  }

 private:
  static constexpr int matrix_rows = 8;
  SharedTile tile_;
  MatrixOrder order_;
  SwizzledAddresses addresses_;
};

/// A factor whose rows run along K: 16 rows of the warp's tile and one k step at once, which are
/// one tile of mma's A, or two of its B; or 8 rows, one tile of B.
class RowLoads final : public MatrixLoads {
 public:
  RowLoads(const SharedTile& tile, int rows, MatrixOrder order)
      : MatrixLoads(tile, tile.chunks(), order), rows_(rows), order_(order) {}
  void prepare(Builder& builder, llvm::Value* lane, llvm::Value* first) override {
    prepare_at(builder, lane, first, number(builder, 0));
  }

  std::vector<Values> load(Builder& builder, const Values& addresses, int step) const override {
    std::vector<Values> tiles;
    const bool eight = order_ == MatrixOrder::EightRows;
    for (int row = 0; row < rows_; row += eight ? mma_columns : mma_rows) {
      const Values m = load_matrices(builder, eight ? Op::LoadMatrix2 : Op::LoadMatrix4, addresses,
                                     row, step * step_chunks);
      if (order_ == MatrixOrder::ChunksFirst)
        tiles.insert(tiles.end(), {{m[0], m[1]}, {m[2], m[3]}});
      else
        tiles.push_back(m);
    }
    return tiles;
  }

 private:
  int rows_;
  MatrixOrder order_;
};

/// B of 16-bit elements whose rows run along N: each matrix transposed; 16 rows, one k step, and 16
/// columns at once: two tiles of mma's B, or (ChunksFirst) one of its A.
class TransposedLoads final : public MatrixLoads {
 public:
  TransposedLoads(const SharedTile& tile, int columns, MatrixOrder order = MatrixOrder::RowsFirst)
      : MatrixLoads(tile, columns / chunk_columns, order), columns_(columns), order_(order) {}
  void prepare(Builder& builder, llvm::Value* lane, llvm::Value* first) override {
    prepare_at(builder, lane, number(builder, 0),
               builder.CreateUDiv(first, number(builder, chunk_columns)));
  }

  std::vector<Values> load(Builder& builder, const Values& addresses, int step) const override {
    std::vector<Values> tiles;
    for (int column = 0; column < columns_; column += 2 * chunk_columns) {
      const Values m = load_matrices(builder, Op::LoadMatrix4Trans, addresses, step * step_rows,
                                     column / chunk_columns);
      if (order_ == MatrixOrder::RowsFirst)
        tiles.insert(tiles.end(), {{m[0], m[1]}, {m[2], m[3]}});
      else
        tiles.push_back(m);
    }
    return tiles;
  }

 private:
  static constexpr int chunk_columns = 8, step_rows = 16;
  int columns_;
  MatrixOrder order_;
};

/// B of bytes whose rows run along N. ldmatrix transposes elements of 16 bits, two columns of one
/// row: lane 4 * g + t gets rows 2 * t and 2 * t + 1 of a matrix at columns 2 * g and 2 * g + 1.
/// mma wants rows 4 * t to 4 * t + 3 of one column in a register. So a matrix has rows 4 * t and 4
/// * t + 1 for t = 0, 1 and rows 4 * t + 2 and 4 * t + 3 for t = 2, 3, and another the other ones:
/// 8 rows that differ modulo 8, as the swizzle wants, and two permutations for both columns.
class ByteLoads final : public FragmentLoads {
 public:
  ByteLoads(const SharedTile& tile, int columns)
      : tile_(tile), columns_(columns), addresses_(tile, columns / chunk_bytes, 1) {}
  SharedTile tile() const override { return tile_; }

  void prepare(Builder& builder, llvm::Value* lane, llvm::Value* first) override {
    const auto bit = [&](int at) {
      return builder.CreateAnd(builder.CreateLShr(lane, number(builder, at)), number(builder, 1));
    };
    const auto scaled = [&](llvm::Value* value, int by) {
      return builder.CreateMul(value, number(builder, by));
    };
    // The row that the lane names has t in bits 1 and 2, the matrix in bits 3 and 4.
    llvm::Value* t =
        builder.CreateAnd(builder.CreateLShr(lane, number(builder, 1)), number(builder, 3));
    llvm::Value* row = builder.CreateAdd(scaled(t, 4), bit(0));
    row = builder.CreateAdd(row, scaled(builder.CreateXor(bit(2), bit(3)), 2));
    row = builder.CreateAdd(row, scaled(bit(4), half_rows));
    addresses_.prepare(builder, row, builder.CreateUDiv(first, number(builder, chunk_bytes)),
                       number(builder, 0));
    // The rows that the lane gets have t in bits 0 and 1.
    llvm::Value* swapped = builder.CreateICmpNE(bit(1), number(builder, 0));
    for (const bool odd : {false, true}) {
      columns_of_[odd] = builder.CreateSelect(swapped, number(builder, odd ? 0x3175 : 0x2064),
                                              number(builder, odd ? 0x7531 : 0x6420));
    }
  }

  Values addresses(Builder& builder, llvm::Value* stage) const override {
    return addresses_.at(builder, stage);
  }

  std::vector<Values> load(Builder& builder, const Values& addresses, int step) const override {
    std::vector<Values> tiles;
    for (int chunk = 0; chunk < columns_ / chunk_bytes; ++chunk) {
      llvm::Value* from = addresses_.of(builder, addresses, step * 2 * half_rows, chunk);
      const Values m = results(builder, call(builder, Op::LoadMatrix4Trans, {from}));
      for (llvm::Value* selector : columns_of_) {
        tiles.push_back({call(builder, Op::Permute, {m[0], m[1], selector}),
                         call(builder, Op::Permute, {m[2], m[3], selector})});
      }
    }
    return tiles;
  }

 private:
  static constexpr int half_rows = 16;  ///< of a k step, in one register
  SharedTile tile_;
  int columns_;
  SwizzledAddresses addresses_;
  llvm::Value* columns_of_[2] = {};  ///< what permutes to the even, and to the odd columns
};

/// B of TF32 whose rows run along N: ldmatrix cannot transpose 32-bit elements, so each lane loads
/// its words. Lane 4 * g + t holds two rows of a k step at column g of each instruction's tile.
enum class WordRows {
  Halves,  ///< t and t + 4
  Pairs    ///< 2 * t and 2 * t + 1
};
class WordLoads final : public FragmentLoads {
 public:
  WordLoads(const SharedTile& tile, int columns, ColumnMap map)
      : tile_(tile),
        columns_(columns),
        map_(map),
        addresses_(tile, std::min(map.spread() / chunk_words, columns / mma_columns), 1) {}
  /// All columns are neighbours; rows in pairs. The two halves of 8 columns meet no bank twice, as
  /// the swizzle moves the chunks of even rows by an even number of chunks.
  WordLoads(const SharedTile& tile, int columns)
      : tile_(tile),
        columns_(columns),
        rows_(WordRows::Pairs),
        addresses_(tile, columns / chunk_words, mma_columns / chunk_words) {}
  SharedTile tile() const override { return tile_; }

  void prepare(Builder& builder, llvm::Value* lane, llvm::Value* first) override {
    const bool pairs = rows_ == WordRows::Pairs;
    llvm::Value* row = builder.CreateMul(builder.CreateAnd(lane, number(builder, half_rows - 1)),
                                         number(builder, pairs ? 2 : 1));
    llvm::Value* column = builder.CreateLShr(lane, number(builder, 2));
    llvm::Value* half = builder.CreateMul(builder.CreateLShr(column, number(builder, 2)),
                                          number(builder, map_.spread() / chunk_words));
    llvm::Value* chunk =
        builder.CreateAdd(builder.CreateUDiv(first, number(builder, chunk_words)), half);
    llvm::Value* byte = builder.CreateMul(
        builder.CreateAnd(column, number(builder, chunk_words - 1)), number(builder, word_bytes));
    addresses_.prepare(builder, row, chunk, byte);
    lower_addresses_.prepare(
        builder, builder.CreateAdd(row, number(builder, pairs ? 1 : half_rows)), chunk, byte);
  }

  Values addresses(Builder& builder, llvm::Value* stage) const override {
    Values both = addresses_.at(builder, stage);
    const Values lower = lower_addresses_.at(builder, stage);
    both.insert(both.end(), lower.begin(), lower.end());
    return both;
  }

  std::vector<Values> load(Builder& builder, const Values& addresses, int step) const override {
    const std::span<llvm::Value* const> all(addresses), lower = all.subspan(addresses_.size());
    const auto word = [&](const SwizzledAddresses& half, std::span<llvm::Value* const> from,
                          int chunk) {
      return builder.CreateAlignedLoad(builder.getInt32Ty(),
                                       half.of(builder, from, step * 2 * half_rows, chunk),
                                       llvm::Align(word_bytes));
    };
    std::vector<Values> tiles;
    for (int tile = 0; tile < columns_ / mma_columns; ++tile) {
      const int chunk = map_.start(tile) / chunk_words;
      tiles.push_back({word(addresses_, all, chunk), word(lower_addresses_, lower, chunk)});
    }
    return tiles;
  }

 private:
  static constexpr int half_rows = 4;
  SharedTile tile_;
  int columns_;
  ColumnMap map_;
  WordRows rows_ = WordRows::Halves;
  SwizzledAddresses addresses_, lower_addresses_ = addresses_;
};

/// Two tiles of mma's B with all rows of K are one of its A, whose rows are their columns.
class JoinedLoads final : public FragmentLoads {
 public:
  explicit JoinedLoads(std::unique_ptr<FragmentLoads> halves) : halves_(std::move(halves)) {}
  SharedTile tile() const override { return halves_->tile(); }
  void prepare(Builder& builder, llvm::Value* lane, llvm::Value* first) override {
    halves_->prepare(builder, lane, first);
  }
  Values addresses(Builder& builder, llvm::Value* stage) const override {
    return halves_->addresses(builder, stage);
  }
  std::vector<Values> load(Builder& builder, const Values& addresses, int step) const override {
    const std::vector<Values> halves = halves_->load(builder, addresses, step);
    std::vector<Values> tiles;
    for (std::size_t i = 0; i < halves.size(); i += 2)
      tiles.push_back({halves[i][0], halves[i + 1][0], halves[i][1], halves[i + 1][1]});
    return tiles;
  }

 private:
  std::unique_ptr<FragmentLoads> halves_;
};

SharedTile swizzled(int rows, int elements, const GpuTile& tile) {
  return {.rows = rows,
          .row_bytes = elements * static_cast<int>(size_of(tile.operands)),
          .padding_bytes = 0,
          .swizzled = true};
}

bool by_words(const GpuTile& tile, BOrder order) {
  return order == BOrder::RowsAlongN && tile.operands == DType::f32;
}

std::unique_ptr<FragmentLoads> joined_if_swapped(const GpuTile& tile,
                                                 std::unique_ptr<FragmentLoads> loads) {
  if (!is_swapped(tile)) return loads;
  return std::make_unique<JoinedLoads>(std::move(loads));
}

}  // namespace

ColumnMap::ColumnMap(const GpuTile& tile, BOrder order) : warp_n_(tile.warp_n) {
  constexpr int full_rows =
      32;  // columns in the 128 bytes of all banks; shorter rows swizzle chunks within 16 columns
  interleaved_ = order == BOrder::RowsAlongN && tile.integers();
  if (by_words(tile, order))
    spread_ = tile.block_n % full_rows == 0 ? full_rows / 2 : full_rows / 4;
}

llvm::Value* ColumnMap::first(Builder& builder, llvm::Value* warp) const {
  const int shared = std::max(2 * spread_, warp_n_), warps = shared / warp_n_;
  llvm::Value* group =
      builder.CreateMul(builder.CreateUDiv(warp, number(builder, warps)), number(builder, shared));
  return builder.CreateAdd(group,
                           builder.CreateMul(builder.CreateURem(warp, number(builder, warps)),
                                             number(builder, warp_n_ / 2)));
}

std::unique_ptr<FragmentLoads> make_a_loads(const GpuTile& tile) {
  return std::make_unique<RowLoads>(
      swizzled(tile.block_m, tile.block_k, tile), tile.warp_m,
      is_swapped(tile) ? MatrixOrder::EightRows : MatrixOrder::RowsFirst);
}

std::unique_ptr<FragmentLoads> make_b_loads(const GpuTile& tile, BOrder order) {
  if (order == BOrder::RowsAlongK)
    return std::make_unique<RowLoads>(
        swizzled(tile.block_n, tile.block_k, tile), tile.warp_n,
        is_swapped(tile) ? MatrixOrder::RowsFirst : MatrixOrder::ChunksFirst);
  const SharedTile rows = swizzled(tile.block_k, tile.block_n, tile);
  if (by_words(tile, order))
    return joined_if_swapped(
        tile, std::make_unique<WordLoads>(rows, tile.warp_n, ColumnMap(tile, order)));
  if (tile.integers())
    return joined_if_swapped(tile, std::make_unique<ByteLoads>(rows, tile.warp_n));
  return std::make_unique<TransposedLoads>(
      rows, tile.warp_n, is_swapped(tile) ? MatrixOrder::ChunksFirst : MatrixOrder::RowsFirst);
}

std::unique_ptr<FragmentLoads> make_chained_b_loads(const SharedTile& tile, DType operands,
                                                    int columns) {
  if (operands == DType::f32) return std::make_unique<WordLoads>(tile, columns);
  return std::make_unique<TransposedLoads>(tile, columns);
}

}  // namespace dyn::ptx
