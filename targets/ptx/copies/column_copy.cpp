#include "targets/ptx/copies/column_copy.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "dyn/error.hpp"
#include "src/base/rounding.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

/// Rows that one thread copies without a loop, and in each trip of one.
constexpr int most_straight_rows = 8, rows_of_trip = 4;

}  // namespace

ColumnCopy::ColumnCopy(const SharedTile& tile, const PieceCopies& copies, int threads)
    : OperandCopy(copies),
      tile_(tile),
      threads_(threads),
      units_in_row_(tile.row_bytes / copies.unit_bytes()),
      rows_between_(std::max(1, threads / units_in_row_)),
      rows_(static_cast<int>(ceil_div(tile.rows, rows_between_))),
      columns_(static_cast<std::size_t>(std::max(1, units_in_row_ / threads))) {
  if (rows_ > most_straight_rows) rows_ = static_cast<int>(round_up(rows_, rows_of_trip));
  is_beyond_ = rows_between_ * rows_ > tile.rows;
  if (threads % units_in_row_ != 0 && units_in_row_ % threads != 0) {
    throw Error(ErrorKind::internal, std::to_string(threads) + " threads do not copy windows of " +
                                         std::to_string(units_in_row_) + " units evenly");
  }
}

int ColumnCopy::block_k() const { return tile_.row_bytes / bytes_of(pieces().tile()); }

void ColumnCopy::prepare_columns(Builder& builder, llvm::Value* thread, llvm::Value* depth,
                                 Values radices) {
  thread_ = thread;
  depth_ = depth;
  radices_ = std::move(radices);
  increment_ = digits_of(builder, number(builder, block_k()));
  first_row_ = builder.CreateUDiv(thread, number(builder, units_in_row_));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.unit = columns_.size() == 1
                      ? builder.CreateURem(thread, number(builder, units_in_row_))
                      : builder.CreateAdd(thread, number(builder, static_cast<int>(i) * threads_));
    column.first = digits_of(
        builder, builder.CreateMul(column.unit, number(builder, pieces().unit_elements())));
    if (rows_ > most_straight_rows) continue;
    const int places = tile_.period() / std::gcd(rows_between_, tile_.period());
    for (int row = 0; row < std::min(places, rows_); ++row)
      column.places.push_back(place_of(builder, column, row_at(builder, number(builder, 0), row)));
  }
}

// The last digit has what the others leave.
Values ColumnCopy::digits_of(Builder& builder, llvm::Value* k) const {
  Values digits;
  for (llvm::Value* radix : radices_) {
    digits.push_back(builder.CreateURem(k, radix));
    k = builder.CreateUDiv(k, radix);
  }
  digits.push_back(k);
  return digits;
}

llvm::Value* ColumnCopy::place_of(Builder& builder, const Column& column, llvm::Value* row) const {
  return tile_.element_offset(builder, row, column.unit, pieces().unit_bytes());
}

llvm::Value* ColumnCopy::row_at(Builder& builder, llvm::Value* trip, int index) const {
  llvm::Value* row = builder.CreateAdd(trip, number(builder, index));
  return builder.CreateAdd(first_row_, builder.CreateMul(row, number(builder, rows_between_)));
}

llvm::Value* ColumnCopy::k_of(Builder& builder, const Column& column, llvm::Value* step) const {
  return builder.CreateAdd(
      builder.CreateMul(step, number(builder, block_k())),
      builder.CreateMul(column.unit, number(builder, pieces().unit_elements())));
}

OperandCopy::Position ColumnCopy::position_at(Builder& builder, llvm::Value* step) const {
  Position first;
  for (const Column& column : columns_)
    first.insert(first.end(), column.first.begin(), column.first.end());
  if (step == nullptr) return first;
  codegen::Conditional later(builder, builder.CreateICmpNE(step, number(builder, 0)),
                             "window_step");
  Position position;
  for (const Column& column : columns_) {
    const Values digits = digits_of(builder, k_of(builder, column, step));
    position.insert(position.end(), digits.begin(), digits.end());
  }
  return later.close(position, first);
}

// Digit by digit, with a carry: block_k's last digit may be of any size, the others are below their
// radices.
OperandCopy::Position ColumnCopy::next(Builder& builder, const Position& position) const {
  Position next;
  for (std::size_t at = 0; at < position.size(); at += digits()) {
    llvm::Value* carry = nullptr;
    for (std::size_t i = 0; i < digits(); ++i) {
      llvm::Value* sum = builder.CreateAdd(position[at + i], increment_[i]);
      if (carry != nullptr)
        sum = builder.CreateAdd(sum, builder.CreateZExt(carry, builder.getInt32Ty()));
      if (i < radices_.size()) {
        carry = builder.CreateICmpUGE(sum, radices_[i]);
        sum = builder.CreateSelect(carry, builder.CreateSub(sum, radices_[i]), sum);
      }
      next.push_back(sum);
    }
  }
  return next;
}

void ColumnCopy::issue(Builder& builder, const Position& position, llvm::Value* step,
                       llvm::Value* destination) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const PieceOfRow piece_of =
        pieces_of(builder, column, std::span(position).subspan(i * digits(), digits()), step);
    if (rows_ <= most_straight_rows) {
      copy_rows(builder, column, piece_of, destination, number(builder, 0), rows_);
      continue;
    }
    CountedLoop trips(builder, number(builder, 0), number(builder, rows_),
                      number(builder, rows_of_trip), "window_copy");
    copy_rows(builder, column, piece_of, destination, trips.index(), rows_of_trip);
    trips.close();
  }
}

void ColumnCopy::copy_rows(Builder& builder, const Column& column, const PieceOfRow& piece_of,
                           llvm::Value* destination, llvm::Value* trip, int count) const {
  std::vector<Piece> copied;
  for (int j = 0; j < count; ++j) {
    llvm::Value* row = row_at(builder, trip, j);
    llvm::Value* place = nullptr;
    if (rows_ <= most_straight_rows) {
      const int places = static_cast<int>(column.places.size());
      place = builder.CreateAdd(
          column.places[static_cast<std::size_t>(j % places)],
          number(builder, j / places * places * rows_between_ * tile_.stride_bytes()));
    } else {
      place = place_of(builder, column, row);
    }
    llvm::Value* existing =
        is_beyond_ ? smaller(builder, row, number(builder, tile_.rows - 1)) : row;
    copied.push_back(piece_of(existing, at_byte(builder, destination, place)));
    if (is_beyond_) copied.back().inside = builder.CreateICmpULT(row, number(builder, tile_.rows));
  }
  pieces().emit(builder, copied);
}

}  // namespace dyn::ptx
