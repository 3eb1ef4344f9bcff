#include "targets/ptx/copies/window_copy.hpp"

#include <algorithm>
#include <utility>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

// Windows begin, and taps move, within (-2^29, 2^29]: no sum with one of these is in the tensor.
constexpr std::uint32_t no_row = 0x80000000, no_tap = 0x40000000;

llvm::Value* wide(Builder& builder, llvm::Value* value) {
  return builder.CreateZExt(value, builder.getInt64Ty());
}

llvm::Value* bytes_to(Builder& builder, llvm::Value* elements, DType dtype) {
  return builder.CreateMul(elements, builder.getInt64(size_of(dtype)));
}

}  // namespace

WindowCopy::WindowCopy(const SharedTile& tile, const PieceCopies& copies, int threads, int m,
                       WindowLayout layout)
    : ColumnCopy(tile, copies, threads), m_(m), layout_(std::move(layout)) {}

void WindowCopy::prepare(Builder& builder, llvm::Value* thread, const WindowValues& values,
                         llvm::Value* table) {
  values_ = values;
  table_ = table;
  make_digits(builder, values);
  Values radices;
  for (const Digit& digit : digits_) radices.push_back(digit.radix);
  radices.pop_back();
  prepare_columns(builder, thread, low_word(builder, values.depth), std::move(radices));
}

void WindowCopy::make_digits(Builder& builder, const WindowValues& values) {
  const DType source = pieces().source();
  // A tensor without channels has no step, but its digits are computed.
  llvm::Value* channels = larger(builder, values.channels, builder.getInt64(1));
  if (layout_.in_runs) channels = builder.CreateMul(channels, values.axes.back().size);
  digits_.push_back({low_word(builder, channels),
                     in_chunks() ? builder.getInt64(size_of(source))
                                 : bytes_to(builder, values.channel_step, source),
                     nullptr, -1});
  int coordinate = layout_.checked();
  for (std::size_t i = layout_.axes.size(); i-- > 0;) {
    const WindowValues::Axis& axis = values.axes[i];
    if (layout_.axes[i].is_checked) {
      --coordinate;
      extents_.insert(extents_.begin(), low_word(builder, axis.extent));
    }
    if (!layout_.axes[i].has_taps || (layout_.in_runs && i + 1 == layout_.axes.size())) continue;
    digits_.push_back({low_word(builder, axis.size),
                       bytes_to(builder, builder.CreateMul(axis.dilation, axis.step), source),
                       low_word(builder, axis.dilation),
                       layout_.axes[i].is_checked ? coordinate : -1});
  }
}

OperandCopy::Position WindowCopy::enter(Builder& builder, const TileBand& band) {
  origin_ = band.origin;
  CountedLoop rows(builder, thread(), number(builder, tile().rows), number(builder, threads()),
                   "window_row");
  write_entry(builder, band, rows.index());
  rows.close();
  call(builder, Op::Barrier);
  return position_at(builder, band.step);
}

// The window of a row along each axis. Parts of one axis of the problem are in row-major order.
std::vector<llvm::Value*> WindowCopy::parts_of_row(Builder& builder, const TileBand& band,
                                                   llvm::Value* row) const {
  std::map<int, llvm::Value*> left{{m_, builder.CreateAdd(low_word(builder, band.first), row)}};
  std::map<int, int> parts_left;
  for (const WindowLayout::Axis& axis : layout_.axes) ++parts_left[axis.axis];
  Values parts(layout_.axes.size());
  for (std::size_t i = layout_.axes.size(); i-- > 0;) {
    const int axis = layout_.axes[i].axis;
    if (axis != m_) left.try_emplace(axis, low_word(builder, band.batch->at(axis)));
    llvm::Value*& rest = left.at(axis);
    const bool is_last = --parts_left[axis] == 0;
    llvm::Value* count = low_word(builder, values_.axes[i].count);
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
    if (layout_.axes[i].is_checked) coordinates.push_back(low_word(builder, begin));
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
      builder.CreateSelect(builder.CreateICmpSLT(k_of(builder, column, step), depth()),
                           tap.distance.front(), builder.getInt32(no_tap));
  return tap;
}

Piece WindowCopy::piece_at(Builder& builder, const Tap& tap, llvm::Value* row,
                           llvm::Value* place) const {
  llvm::Value* loaded =
      builder.CreateAlignedLoad(entry_type(builder), entry_at(builder, row), llvm::Align(16));
  llvm::Value* exists = nullptr;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    llvm::Value* both = builder.CreateExtractElement(loaded, std::uint64_t{1 + i / 2});
    llvm::Value* begin = low_word(builder, i % 2 == 0 ? both : builder.CreateLShr(both, 32));
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
  if (in_chunks()) {
    piece.bytes =
        builder.CreateSelect(exists, number(builder, pieces().chunk()), number(builder, 0));
    return piece;
  }
  piece.exists = exists;
  if (!asynchronous()) piece.from = builder.CreateSelect(exists, piece.from, values_.readable);
  return piece;
}

ColumnCopy::PieceOfRow WindowCopy::pieces_of(Builder& builder, const Column& column,
                                             std::span<llvm::Value* const> digits,
                                             llvm::Value* step) const {
  return [this, &builder, tap = tap_at(builder, column, digits, step)](
             llvm::Value* row, llvm::Value* place) { return piece_at(builder, tap, row, place); };
}

}  // namespace dyn::ptx
