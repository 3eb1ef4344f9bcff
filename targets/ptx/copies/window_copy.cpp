#include "targets/ptx/copies/window_copy.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "dyn/error.hpp"
#include "src/base/rounding.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

/// Rows that one thread copies without a loop, and in each trip of one.
constexpr int most_straight_rows = 8, rows_of_trip = 4;

// Windows begin, and taps move, within (-2^29, 2^29]: no sum with one of these is in the tensor.
constexpr std::uint32_t no_row = 0x80000000, no_tap = 0x40000000;

llvm::Value* word(Builder& builder, llvm::Value* value) {
  return builder.CreateTrunc(value, builder.getInt32Ty());
}

llvm::Value* wide(Builder& builder, llvm::Value* value) {
  return builder.CreateZExt(value, builder.getInt64Ty());
}

llvm::Value* bytes_to(Builder& builder, llvm::Value* elements, DType dtype) {
  return builder.CreateMul(elements, builder.getInt64(size_of(dtype)));
}

}  // namespace

WindowCopy::WindowCopy(const SharedTile& tile, const PieceCopies& copies, int threads, int m,
                       WindowLayout layout)
    : OperandCopy(copies),
      tile_(tile),
      threads_(threads),
      m_(m),
      layout_(std::move(layout)),
      units_in_row_(vectors() ? tile.chunks() : tile.row_bytes / bytes_of(copies.tile())),
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

int WindowCopy::unit_elements() const {
  return vectors() ? chunk_bytes / bytes_of(pieces().source()) : 1;
}

void WindowCopy::prepare(Builder& builder, llvm::Value* thread, const WindowValues& values,
                         llvm::Value* table) {
  thread_ = thread;
  values_ = values;
  table_ = table;
  depth_ = word(builder, values.depth);
  make_digits(builder, values);
  const int block_k = tile_.row_bytes / bytes_of(pieces().tile());
  increment_ = digits_of(builder, number(builder, block_k));
  first_row_ = builder.CreateUDiv(thread, number(builder, units_in_row_));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.unit = columns() == 1
                      ? builder.CreateURem(thread, number(builder, units_in_row_))
                      : builder.CreateAdd(thread, number(builder, static_cast<int>(i) * threads_));
    column.first =
        digits_of(builder, builder.CreateMul(column.unit, number(builder, unit_elements())));
    if (rows_ > most_straight_rows) continue;
    const int places = tile_.period() / std::gcd(rows_between_, tile_.period());
    for (int row = 0; row < std::min(places, rows_); ++row)
      column.places.push_back(place_of(builder, column, row_at(builder, number(builder, 0), row)));
  }
}

void WindowCopy::make_digits(Builder& builder, const WindowValues& values) {
  const DType source = pieces().source();
  // A tensor without channels has no step, but its digits are computed.
  llvm::Value* channels =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, values.channels, builder.getInt64(1));
  digits_.push_back({word(builder, channels),
                     vectors() ? builder.getInt64(size_of(source))
                               : bytes_to(builder, values.channel_step, source),
                     nullptr, -1});
  int coordinate = layout_.checked();
  for (std::size_t i = layout_.axes.size(); i-- > 0;) {
    const WindowValues::Axis& axis = values.axes[i];
    if (layout_.axes[i].is_checked) {
      --coordinate;
      extents_.insert(extents_.begin(), word(builder, axis.extent));
    }
    if (!layout_.axes[i].has_taps) continue;
    digits_.push_back({word(builder, axis.size),
                       bytes_to(builder, builder.CreateMul(axis.dilation, axis.step), source),
                       word(builder, axis.dilation), layout_.axes[i].is_checked ? coordinate : -1});
  }
}

// The last digit has what the others leave.
std::vector<llvm::Value*> WindowCopy::digits_of(Builder& builder, llvm::Value* k) const {
  Values digits;
  for (const Digit& digit : digits_) {
    if (digits.size() + 1 == digits_.size()) break;
    digits.push_back(builder.CreateURem(k, digit.radix));
    k = builder.CreateUDiv(k, digit.radix);
  }
  digits.push_back(k);
  return digits;
}

llvm::Value* WindowCopy::place_of(Builder& builder, const Column& column, llvm::Value* row) const {
  if (vectors()) return tile_.chunk_offset(builder, row, column.unit);
  return tile_.element_offset(builder, row, column.unit, bytes_of(pieces().tile()));
}

llvm::Value* WindowCopy::row_at(Builder& builder, llvm::Value* trip, int index) const {
  llvm::Value* row = builder.CreateAdd(trip, number(builder, index));
  return builder.CreateAdd(first_row_, builder.CreateMul(row, number(builder, rows_between_)));
}

OperandCopy::Position WindowCopy::enter(Builder& builder, const TileBand& band) {
  origin_ = band.origin;
  CountedLoop rows(builder, thread_, number(builder, tile_.rows), number(builder, threads_),
                   "window_row");
  write_entry(builder, band, rows.index());
  rows.close();
  call(builder, Op::Barrier);
  Position position;
  for (const Column& column : columns_)
    position.insert(position.end(), column.first.begin(), column.first.end());
  return band.step == nullptr ? position : position_at(builder, band.step, position);
}

OperandCopy::Position WindowCopy::position_at(Builder& builder, llvm::Value* step,
                                              const Position& first) const {
  codegen::Conditional later(builder, builder.CreateICmpNE(step, number(builder, 0)),
                             "window_step");
  Position position;
  for (const Column& column : columns_) {
    const Values digits = digits_of(builder, k_of(builder, column, step));
    position.insert(position.end(), digits.begin(), digits.end());
  }
  return later.close(position, first);
}

// The window of a row along each axis. Parts of one axis of the problem are in row-major order.
std::vector<llvm::Value*> WindowCopy::parts_of_row(Builder& builder, const TileBand& band,
                                                   llvm::Value* row) const {
  std::map<int, llvm::Value*> left{{m_, builder.CreateAdd(word(builder, band.first), row)}};
  std::map<int, int> parts_left;
  for (const WindowLayout::Axis& axis : layout_.axes) ++parts_left[axis.axis];
  Values parts(layout_.axes.size());
  for (std::size_t i = layout_.axes.size(); i-- > 0;) {
    const int axis = layout_.axes[i].axis;
    if (axis != m_) left.try_emplace(axis, word(builder, band.batch->at(axis)));
    llvm::Value*& rest = left.at(axis);
    const bool is_last = --parts_left[axis] == 0;
    llvm::Value* count = word(builder, values_.axes[i].count);
    parts[i] = wide(builder, is_last ? rest : builder.CreateURem(rest, count));
    if (!is_last) rest = builder.CreateUDiv(rest, count);
  }
  return parts;
}

void WindowCopy::write_entry(Builder& builder, const TileBand& band, llvm::Value* row) {
  const Values parts = parts_of_row(builder, band, row);
  llvm::Value* offset = builder.getInt64(0);
  Values coordinates;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const WindowValues::Axis& axis = values_.axes[i];
    llvm::Value* begin = builder.CreateSub(builder.CreateMul(parts[i], axis.stride), axis.before);
    offset = builder.CreateAdd(offset, builder.CreateMul(begin, axis.step));
    if (layout_.axes[i].is_checked) coordinates.push_back(word(builder, begin));
  }
  coordinates.front() = builder.CreateSelect(builder.CreateICmpSLT(row, band.across),
                                             coordinates.front(), builder.getInt32(no_row));
  builder.CreateAlignedStore(
      entry_of(builder, bytes_to(builder, offset, pieces().source()), coordinates),
      entry_at(builder, row), llvm::Align(16));
}

// The offset, then pairs of coordinates, then zeros.
llvm::Value* WindowCopy::entry_of(Builder& builder, llvm::Value* offset,
                                  std::span<llvm::Value* const> coordinates) const {
  llvm::Value* entry = llvm::Constant::getNullValue(entry_type(builder));
  entry = builder.CreateInsertElement(entry, offset, std::uint64_t{0});
  for (std::size_t i = 0; i < coordinates.size(); i += 2) {
    llvm::Value* pair = wide(builder, coordinates[i]);
    if (i + 1 < coordinates.size())
      pair = builder.CreateOr(pair, builder.CreateShl(wide(builder, coordinates[i + 1]), 32));
    entry = builder.CreateInsertElement(entry, pair, std::uint64_t{1 + i / 2});
  }
  return entry;
}

llvm::FixedVectorType* WindowCopy::entry_type(Builder& builder) const {
  return llvm::FixedVectorType::get(builder.getInt64Ty(),
                                    static_cast<unsigned>(layout_.entry_bytes()) / 8);
}

llvm::Value* WindowCopy::entry_at(Builder& builder, llvm::Value* row) const {
  return at_byte(builder, table_, builder.CreateMul(row, number(builder, layout_.entry_bytes())));
}

// Digit by digit, with a carry: block_k's last digit may be of any size, the others are below their
// radices.
OperandCopy::Position WindowCopy::next(Builder& builder, const Position& position) const {
  Position next;
  for (std::size_t at = 0; at < position.size(); at += digits_.size()) {
    llvm::Value* carry = nullptr;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      llvm::Value* sum = builder.CreateAdd(position[at + i], increment_[i]);
      if (carry != nullptr)
        sum = builder.CreateAdd(sum, builder.CreateZExt(carry, builder.getInt32Ty()));
      if (i + 1 < digits_.size()) {
        carry = builder.CreateICmpUGE(sum, digits_[i].radix);
        sum = builder.CreateSelect(carry, builder.CreateSub(sum, digits_[i].radix), sum);
      }
      next.push_back(sum);
    }
  }
  return next;
}

WindowCopy::Tap WindowCopy::tap_at(Builder& builder, const Column& column,
                                   std::span<llvm::Value* const> digits, llvm::Value* step) const {
  Tap tap{origin_, Values(extents_.size(), number(builder, 0))};
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    const Digit& digit = digits_[i];
    tap.from =
        at_byte(builder, tap.from, builder.CreateMul(wide(builder, digits[i]), digit.distance));
    if (digit.coordinate >= 0)
      tap.distance[static_cast<std::size_t>(digit.coordinate)] =
          builder.CreateMul(digits[i], digit.dilation);
  }
  tap.distance.front() =
      builder.CreateSelect(builder.CreateICmpSLT(k_of(builder, column, step), depth_),
                           tap.distance.front(), builder.getInt32(no_tap));
  return tap;
}

llvm::Value* WindowCopy::k_of(Builder& builder, const Column& column, llvm::Value* step) const {
  const int block_k = tile_.row_bytes / bytes_of(pieces().tile());
  return builder.CreateAdd(builder.CreateMul(step, number(builder, block_k)),
                           builder.CreateMul(column.unit, number(builder, unit_elements())));
}

Piece WindowCopy::piece_at(Builder& builder, const Tap& tap, llvm::Value* row,
                           llvm::Value* place) const {
  if (is_beyond_)
    row =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, row, number(builder, tile_.rows - 1));
  llvm::Value* loaded =
      builder.CreateAlignedLoad(entry_type(builder), entry_at(builder, row), llvm::Align(16));
  llvm::Value* exists = nullptr;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    llvm::Value* both = builder.CreateExtractElement(loaded, std::uint64_t{1 + i / 2});
    llvm::Value* begin = word(builder, i % 2 == 0 ? both : builder.CreateLShr(both, 32));
    llvm::Value* inside =
        builder.CreateICmpULT(builder.CreateAdd(begin, tap.distance[i]), extents_[i]);
    exists = exists == nullptr ? inside : builder.CreateAnd(exists, inside);
  }
  Piece piece{at_byte(builder, tap.from, builder.CreateExtractElement(loaded, std::uint64_t{0})),
              place,
              nullptr,
              nullptr,
              nullptr,
              1};
  if (vectors()) {
    piece.bytes = builder.CreateSelect(exists, number(builder, chunk_bytes), number(builder, 0));
    return piece;
  }
  piece.exists = exists;
  if (!asynchronous()) piece.from = builder.CreateSelect(exists, piece.from, values_.readable);
  return piece;
}

void WindowCopy::issue(Builder& builder, const Position& position, llvm::Value* step,
                       llvm::Value* destination) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const Tap tap = tap_at(builder, column,
                           std::span(position).subspan(i * digits_.size(), digits_.size()), step);
    const auto copy_rows = [&](llvm::Value* trip, int count) {
      std::vector<Piece> copied;
      for (int j = 0; j < count; ++j) {
        llvm::Value* row = row_at(builder, trip, j);
        llvm::Value* place = nullptr;
        if (rows_ <= most_straight_rows) {
          const int places = static_cast<int>(column.places.size());
          place = column.places[static_cast<std::size_t>(j % places)];
          place = builder.CreateAdd(
              place, number(builder, j / places * places * rows_between_ * tile_.stride_bytes()));
        } else {
          place = place_of(builder, column, row);
        }
        copied.push_back(piece_at(builder, tap, row, at_byte(builder, destination, place)));
        if (is_beyond_)
          copied.back().inside = builder.CreateICmpULT(row, number(builder, tile_.rows));
      }
      pieces().emit(builder, copied);
    };
    if (rows_ <= most_straight_rows) {
      copy_rows(number(builder, 0), rows_);
      continue;
    }
    CountedLoop trips(builder, number(builder, 0), number(builder, rows_),
                      number(builder, rows_of_trip), "window_copy");
    copy_rows(trips.index(), rows_of_trip);
    trips.close();
  }
}

}  // namespace dyn::ptx
