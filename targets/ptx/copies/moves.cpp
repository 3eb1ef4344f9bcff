#include "targets/ptx/copies/moves.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "dyn/error.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;

/// Copies that one thread makes without a loop: their loads are in flight together.
constexpr int most_straight_copies = 8;
/// Elements that are loaded, converted and stored at once where they are neighbours in memory.
constexpr int group = 4;

/// True where `value` is a multiple of `of`, a power of two.
llvm::Value* is_multiple(Builder& builder, llvm::Value* value, int of) {
  return builder.CreateICmpEQ(
      builder.CreateAnd(value, builder.getInt64(static_cast<std::uint64_t>(of - 1))),
      builder.getInt64(0));
}

int largest_divisor(int value, int most) {
  int divisor = most < value ? most : value;
  while (value % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

TileCopy::TileCopy(const SharedTile& tile, const PieceCopies& copies, int threads,
                   DepthAlong depth_along)
    : OperandCopy(copies),
      tile_(tile),
      threads_(threads),
      depth_along_(depth_along),
      units_in_row_(tile.row_bytes / copies.unit_bytes()) {}

void TileCopy::prepare(Builder& builder, llvm::Value* thread, llvm::Value* row_stride,
                       llvm::Value* column_stride, llvm::Value* depth) {
  thread_ = thread;
  depth_ = depth;
  llvm::Value* bytes = builder.getInt64(size_of(pieces().source()));
  row_bytes_ = builder.CreateMul(row_stride, bytes);
  column_bytes_ = builder.CreateMul(column_stride, bytes);
  along_rows_ = builder.CreateICmpEQ(row_stride, builder.getInt64(1));
  // A loaded element must exist, and elements outside of the tile may not exist.
  if (!asynchronous() && units(walked_in_row()) % threads_ != 0) return;
  walk_ = in_chunks() || tile_.swizzled || !asynchronous() ? walk_down(builder)
                                                           : walk_either_way(builder);
}

void TileCopy::prepare(Builder& builder, llvm::Value* thread, RowDistance distance,
                       llvm::Value* column_stride, llvm::Value* depth) {
  thread_ = thread;
  depth_ = depth;
  distance_ = std::move(distance);
  column_bytes_ = builder.CreateMul(column_stride, builder.getInt64(size_of(pieces().source())));
  along_rows_ = builder.getFalse();
}

int TileCopy::elements_walked() const { return asynchronous() ? 1 : group; }
int TileCopy::walked_in_row() const {
  return in_chunks() ? units_in_row_ : units_in_row_ / elements_walked();
}
int TileCopy::copies(int in_row) const { return (units(in_row) + threads_ - 1) / threads_; }
int TileCopy::straight_copies(int in_row) const {
  return largest_divisor(copies(in_row), most_straight_copies);
}
int TileCopy::depth_of_tile() const {
  return depth_along_ == DepthAlong::Rows ? tile_.rows
                                          : tile_.row_bytes / bytes_of(pieces().tile());
}

llvm::Value* TileCopy::index_of(Builder& builder, llvm::Value* first, int copy) const {
  return copy == 0 ? first : builder.CreateAdd(first, number(builder, copy * threads_));
}

llvm::Value* TileCopy::inside(Builder& builder, llvm::Value* first, int copy, int in_row) const {
  return units(in_row) % threads_ == 0 ? nullptr
                                       : builder.CreateICmpULT(index_of(builder, first, copy),
                                                               number(builder, units(in_row)));
}

TileCopy::Unit TileCopy::unit_at(Builder& builder, llvm::Value* index) const {
  const auto quotient = [&](int by) { return builder.CreateUDiv(index, number(builder, by)); };
  const auto remainder = [&](int by) { return builder.CreateURem(index, number(builder, by)); };
  if (in_chunks()) return {quotient(units_in_row_), remainder(units_in_row_)};
  return {builder.CreateSelect(along_rows_, remainder(tile_.rows), quotient(units_in_row_)),
          builder.CreateSelect(along_rows_, quotient(tile_.rows), remainder(units_in_row_))};
}

llvm::Value* TileCopy::place_of(Builder& builder, const Unit& unit) const {
  return tile_.element_offset(builder, unit.row, unit.column, pieces().unit_bytes());
}

llvm::Value* TileCopy::source_of(Builder& builder, const Unit& unit) const {
  const auto wide = [&](llvm::Value* value) {
    return builder.CreateZExt(value, builder.getInt64Ty());
  };
  llvm::Value* column =
      in_chunks() ? wide(builder.CreateMul(unit.column, number(builder, pieces().chunk())))
                  : builder.CreateMul(wide(unit.column), column_bytes_);
  llvm::Value* row = distance_ ? builder.CreateMul(distance_(unit.row),
                                                   builder.getInt64(size_of(pieces().source())))
                               : builder.CreateMul(wide(unit.row), row_bytes_);
  return builder.CreateAdd(row, column);
}

// Goes down a column of the tile: the permutation of a row's chunks repeats after a period of rows.
std::optional<TileCopy::Walk> TileCopy::walk_down(Builder& builder) const {
  const int in_row = walked_in_row();
  if (threads_ % in_row != 0 && copies(in_row) > 1) return std::nullopt;
  const int rows = std::max(1, threads_ / in_row);
  const int places = tile_.period() / std::gcd(rows, tile_.period());
  if (straight_copies(in_row) != copies(in_row) && straight_copies(in_row) % places != 0)
    return std::nullopt;
  llvm::Value* column = builder.CreateMul(builder.CreateURem(thread_, number(builder, in_row)),
                                          number(builder, in_chunks() ? 1 : elements_walked()));
  const Unit first{builder.CreateUDiv(thread_, number(builder, in_row)), column};
  Walk walk{source_of(builder, first),
            builder.CreateMul(row_bytes_, builder.getInt64(static_cast<std::uint64_t>(rows))),
            {},
            number(builder, places * rows * tile_.stride_bytes()),
            walks_down(builder)};
  for (int i = 0; i < std::min(places, copies(in_row)); ++i) {
    walk.places.push_back(place_of(
        builder, {i == 0 ? first.row : builder.CreateAdd(first.row, number(builder, i * rows)),
                  first.column}));
  }
  return walk;
}

// True where neighbouring elements of a row are neighbours in memory and, where elements are copied
// in groups, each row begins with a whole group.
llvm::Value* TileCopy::walks_down(Builder& builder) const {
  if (in_chunks()) return nullptr;
  if (asynchronous()) return builder.CreateNot(along_rows_);
  llvm::Value* neighbours =
      builder.CreateICmpEQ(column_bytes_, builder.getInt64(size_of(pieces().source())));
  return builder.CreateAnd(neighbours,
                           is_multiple(builder, row_bytes_, group * bytes_of(pieces().source())));
}

// Elements of rows that are not permuted: down or along, as suits the source's strides.
std::optional<TileCopy::Walk> TileCopy::walk_either_way(Builder& builder) const {
  if ((threads_ % units_in_row_ != 0 || threads_ % tile_.rows != 0) && copies(units_in_row_) > 1)
    return std::nullopt;
  const int rows = threads_ / units_in_row_, columns = threads_ / tile_.rows;
  const Unit first = unit_at(builder, thread_);
  const auto scaled = [&](llvm::Value* bytes, int by) {
    return builder.CreateMul(bytes, builder.getInt64(static_cast<std::uint64_t>(by)));
  };
  return Walk{
      source_of(builder, first),
      builder.CreateSelect(along_rows_, scaled(column_bytes_, columns), scaled(row_bytes_, rows)),
      {place_of(builder, first)},
      builder.CreateSelect(along_rows_, number(builder, columns * bytes_of(pieces().tile())),
                           number(builder, rows * tile_.stride_bytes())),
      nullptr};
}

// The position is that of the thread's first chunk. Where there is none, or elements are copied, it
// is the tile's.
OperandCopy::Position TileCopy::enter(Builder& builder, const TileBand& band) {
  across_ = band.across;
  llvm::Value* first = band.origin;
  if (band.step != nullptr) {
    llvm::Value* step = builder.CreateZExt(band.step, builder.getInt64Ty());
    first = at_byte(builder, first, builder.CreateMul(step, step_bytes(builder)));
  }
  if (!walk_) return {first};
  const int extent =
      depth_along_ == DepthAlong::Rows ? tile_.row_bytes / bytes_of(pieces().tile()) : tile_.rows;
  llvm::Value* whole = builder.CreateICmpEQ(across_, number(builder, extent));
  if (walk_->usable != nullptr) whole = builder.CreateAnd(whole, walk_->usable);
  if (!asynchronous()) {
    llvm::Value* origin = builder.CreatePtrToInt(band.origin, builder.getInt64Ty());
    whole =
        builder.CreateAnd(whole, is_multiple(builder, origin, group * bytes_of(pieces().source())));
  }
  llvm::Value* steps =
      builder.CreateUDiv(depth_, builder.getInt64(static_cast<std::uint64_t>(depth_of_tile())));
  whole_steps_ = builder.CreateSelect(whole, builder.CreateTrunc(steps, builder.getInt32Ty()),
                                      number(builder, 0));
  return {in_chunks() ? at_byte(builder, first, walk_->first) : first};
}

std::vector<llvm::Value*> TileCopy::band() const {
  if (!walk_) return {across_};
  return {across_, whole_steps_};
}

void TileCopy::set_band(std::span<llvm::Value* const> values) {
  across_ = values[0];
  if (walk_) whole_steps_ = values[1];
}

OperandCopy::Position TileCopy::next(Builder& builder, const Position& position) const {
  return {at_byte(builder, position.front(), step_bytes(builder))};
}

llvm::Value* TileCopy::step_bytes(Builder& builder) const {
  llvm::Value* bytes = depth_along_ == DepthAlong::Rows ? row_bytes_ : column_bytes_;
  return builder.CreateMul(bytes, builder.getInt64(static_cast<std::uint64_t>(depth_of_tile())));
}

void TileCopy::issue(Builder& builder, const Position& at, llvm::Value* step,
                     llvm::Value* destination) const {
  llvm::Value* position = at.front();
  if (!walk_) return copy_singly(builder, position, destination, existing(builder, step));
  const auto whole = [&] {
    copy_walking(builder, in_chunks() ? position : at_byte(builder, position, walk_->first),
                 destination, nullptr);
  };
  const auto part = [&] {
    const Extents extents = existing(builder, step);
    if (in_chunks())
      copy_walking(builder, position, destination, &extents);
    else
      copy_singly(builder, position, destination, extents);
  };
  codegen::choose(builder, builder.CreateICmpSLT(step, whole_steps_), "whole", whole, part);
}

TileCopy::Extents TileCopy::existing(Builder& builder, llvm::Value* step) const {
  const auto wide = [&](int value) { return builder.getInt64(static_cast<std::uint64_t>(value)); };
  llvm::Value* before =
      builder.CreateMul(builder.CreateZExt(step, builder.getInt64Ty()), wide(depth_of_tile()));
  llvm::Value* left = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder.CreateSub(depth_, before), wide(depth_of_tile()));
  llvm::Value* depth = builder.CreateTrunc(left, builder.getInt32Ty());
  return depth_along_ == DepthAlong::Rows ? Extents{depth, across_} : Extents{across_, depth};
}

llvm::Value* TileCopy::existing_bytes(Builder& builder, const Extents& extents,
                                      const Unit& chunk) const {
  llvm::Value* columns =
      builder.CreateMul(extents.columns, number(builder, bytes_of(pieces().source())));
  llvm::Value* left = builder.CreateSub(
      columns, builder.CreateMul(chunk.column, number(builder, pieces().chunk())));
  left = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, number(builder, 0));
  left =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, number(builder, pieces().chunk()));
  return builder.CreateSelect(builder.CreateICmpSLT(chunk.row, extents.rows), left,
                              number(builder, 0));
}

void TileCopy::copy_walking(Builder& builder, llvm::Value* from, llvm::Value* destination,
                            const Extents* extents) const {
  const int all = copies(walked_in_row()), straight = straight_copies(walked_in_row());
  if (straight == all)
    return pieces().emit(builder, walk(builder, from, destination, thread_, extents));
  llvm::Value* carried[] = {thread_, from, destination};
  codegen::CountedLoop trips(builder, number(builder, 0), number(builder, all),
                             number(builder, straight), "copy", carried);
  pieces().emit(builder,
                walk(builder, trips.carried(1), trips.carried(2), trips.carried(0), extents));
  const int turns = straight / static_cast<int>(walk_->places.size());
  carried[0] = index_of(builder, trips.carried(0), straight);
  carried[1] = at_byte(
      builder, trips.carried(1),
      builder.CreateMul(walk_->step, builder.getInt64(static_cast<std::uint64_t>(straight))));
  carried[2] =
      at_byte(builder, trips.carried(2), builder.CreateMul(walk_->turn, number(builder, turns)));
  trips.close(carried);
}

std::vector<Piece> TileCopy::walk(Builder& builder, llvm::Value* from, llvm::Value* destination,
                                  llvm::Value* first, const Extents* extents) const {
  std::vector<Piece> walked;
  const int places = static_cast<int>(walk_->places.size()),
            straight = straight_copies(walked_in_row());
  Unit unit = extents == nullptr ? Unit{} : unit_at(builder, first);
  for (int i = 0; i < straight; ++i) {
    if (i > 0) from = at_byte(builder, from, walk_->step);
    if (i > 0 && extents != nullptr)
      unit.row = builder.CreateAdd(unit.row, number(builder, threads_ / units_in_row_));
    llvm::Value* place =
        at_byte(builder, destination, walk_->places[static_cast<std::size_t>(i % places)]);
    if (i >= places)
      place = at_byte(builder, place, builder.CreateMul(walk_->turn, number(builder, i / places)));
    llvm::Value* bytes = extents == nullptr ? number(builder, pieces().chunk())
                                            : existing_bytes(builder, *extents, unit);
    walked.push_back({from, place, nullptr, bytes, inside(builder, first, i, walked_in_row()),
                      elements_walked()});
  }
  return walked;
}

void TileCopy::copy_singly(Builder& builder, llvm::Value* position, llvm::Value* destination,
                           const Extents& extents) const {
  const int all = copies(units_in_row_), straight = straight_copies(units_in_row_);
  const auto run = [&](llvm::Value* first) {
    std::vector<Piece> all_pieces;
    for (int i = 0; i < straight; ++i)
      all_pieces.push_back(piece_at(builder, extents, position, destination, first, i));
    pieces().emit(builder, all_pieces);
  };
  if (straight == all) return run(thread_);
  codegen::CountedLoop trips(builder, number(builder, 0), number(builder, all),
                             number(builder, straight), "copy");
  run(builder.CreateAdd(thread_, builder.CreateMul(trips.index(), number(builder, threads_))));
  trips.close();
}

Piece TileCopy::piece_at(Builder& builder, const Extents& extents, llvm::Value* position,
                         llvm::Value* destination, llvm::Value* first, int copy) const {
  const Unit unit = unit_at(builder, index_of(builder, first, copy));
  llvm::Value* from = at_byte(builder, position, source_of(builder, unit));
  llvm::Value* place = at_byte(builder, destination, place_of(builder, unit));
  llvm::Value* within = inside(builder, first, copy, units_in_row_);
  if (in_chunks()) return {from, place, nullptr, existing_bytes(builder, extents, unit), within, 1};
  llvm::Value* exists = builder.CreateAnd(builder.CreateICmpSLT(unit.row, extents.rows),
                                          builder.CreateICmpSLT(unit.column, extents.columns));
  if (within != nullptr) exists = builder.CreateAnd(exists, within);
  return {builder.CreateSelect(exists, from, position), place, exists, nullptr, within, 1};
}

}  // namespace dyn::ptx
