#include "targets/ptx/copies/strip_copy.hpp"

#include <utility>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using choice::warp_lanes;
using codegen::Builder;
using codegen::CountedLoop;

constexpr int sector_bytes = 32;

llvm::Value* widened(Builder& builder, llvm::Value* value) {
  return builder.CreateSExt(value, builder.getInt64Ty());
}
llvm::Value* times(Builder& builder, llvm::Value* value, int by) {
  return builder.CreateMul(value, number(builder, by));
}

}  // namespace

StripCopy::StripCopy(const SharedTile& tile, const PieceCopies& copies, int threads,
                     WindowLayout layout, StripLayout strips)
    : ColumnCopy(tile, copies, threads), layout_(std::move(layout)), strip_(std::move(strips)) {}

void StripCopy::prepare(Builder& builder, llvm::Value* thread, const WindowValues& values,
                        llvm::Value* table, llvm::Value* strips) {
  values_ = values;
  table_ = table;
  strips_ = strips;
  in_line_ = low_word(builder, values.axes.back().count);
  prepare_columns(builder, thread, low_word(builder, values.depth), {number(builder, strip_.run)});
}

OperandCopy::Position StripCopy::enter(Builder& builder, const TileBand& band) {
  enter_block(builder, band);
  CountedLoop rows(builder, thread(), number(builder, tile().rows), number(builder, threads()),
                   "window_row");
  write_entry(builder, rows.index());
  rows.close();
  llvm::Value* last = builder.CreateAdd(first_, builder.CreateSub(rows_, number(builder, 1)));
  llvm::Value* pieces = builder.CreateAdd(
      builder.CreateSub(builder.CreateUDiv(last, in_line_), line_), number(builder, 1));
  CountedLoop segments(builder, builder.CreateUDiv(thread(), number(builder, warp_lanes)),
                       times(builder, pieces, strip_.strips),
                       number(builder, threads() / warp_lanes), "strip");
  copy_segment(builder, segments.index());
  segments.close();
  call(builder, Op::CopyCommit);
  call(builder, Op::CopyWait, {number(builder, 0)});
  call(builder, Op::Barrier);
  return position_at(builder, band.step);
}

void StripCopy::enter_block(Builder& builder, const TileBand& band) {
  origin_ = band.origin;
  first_ = low_word(builder, band.first);
  rows_ = band.across;
  line_ = builder.CreateUDiv(first_, in_line_);
  begin_ = builder.CreateSub(first_, builder.CreateMul(line_, in_line_));
}

StripCopy::WindowPiece StripCopy::piece(Builder& builder, llvm::Value* index) const {
  llvm::Value* is_first = builder.CreateICmpEQ(index, number(builder, 0));
  WindowPiece piece{};
  piece.line = builder.CreateAdd(line_, index);
  piece.begin = builder.CreateSelect(is_first, begin_, number(builder, 0));
  piece.before =
      builder.CreateSelect(is_first, number(builder, 0),
                           builder.CreateSub(builder.CreateMul(piece.line, in_line_), first_));
  piece.place = builder.CreateAdd(word_of(builder, times(builder, piece.before, strip_.step)),
                                  times(builder, index, strip_.gap));
  llvm::Value* outside =
      low_word(builder, builder.CreateMul(values_.axes.back().before, values_.channels));
  piece.from = builder.CreateSub(times(builder, piece.begin, strip_.step), outside);
  return piece;
}

llvm::Value* StripCopy::word_of(Builder& builder, llvm::Value* element) const {
  return builder.CreateAnd(element, number(builder, -strip_.word));
}

llvm::Value* StripCopy::strip_bytes(Builder& builder, llvm::Value* elements) const {
  return times(builder, elements, strip_.element);
}

// Rows that do not exist have the last one's window.
void StripCopy::write_entry(Builder& builder, llvm::Value* row) const {
  llvm::Value* window = builder.CreateAdd(
      first_, smaller(builder, row, builder.CreateSub(rows_, number(builder, 1))));
  llvm::Value* line = builder.CreateUDiv(window, in_line_);
  const WindowPiece own = piece(builder, builder.CreateSub(line, line_));
  llvm::Value* in_line = builder.CreateSub(window, builder.CreateMul(line, in_line_));
  llvm::Value* offset = times(builder, builder.CreateSub(in_line, own.begin), strip_.step);
  offset = builder.CreateAdd(offset, builder.CreateSub(own.from, word_of(builder, own.from)));
  offset = strip_bytes(builder, builder.CreateAdd(offset, own.place));
  builder.CreateAlignedStore(offset,
                             at_byte(builder, table_, times(builder, row, strip_word_bytes)),
                             llvm::Align(strip_word_bytes));
}

// Lanes begin at a whole sector, so that each warp reads whole ones.
void StripCopy::copy_segment(Builder& builder, llvm::Value* index) const {
  llvm::Value* strip = builder.CreateURem(index, number(builder, strip_.strips));
  const WindowPiece own = piece(builder, builder.CreateUDiv(index, number(builder, strip_.strips)));
  llvm::Value* windows = smaller(builder, builder.CreateSub(in_line_, own.begin),
                                 builder.CreateSub(rows_, own.before));
  const Source source = source_of(builder, own.line, strip);
  llvm::Value* from = word_of(builder, own.from);
  llvm::Value* end =
      builder.CreateAdd(own.from, builder.CreateAdd(times(builder, windows, strip_.step),
                                                    number(builder, strip_.run - strip_.step)));
  const auto address_of = [&](llvm::Value* element) {
    return at_byte(builder, source.address, widened(builder, strip_bytes(builder, element)));
  };
  llvm::Value* bytes =
      low_word(builder, builder.CreatePtrToInt(address_of(from), builder.getInt64Ty()));
  llvm::Value* ahead =
      builder.CreateUDiv(builder.CreateAnd(bytes, number(builder, sector_bytes - 1)),
                         number(builder, strip_word_bytes));
  from = builder.CreateSub(from, times(builder, ahead, strip_.word));
  llvm::Value* place =
      builder.CreateAdd(builder.CreateAdd(times(builder, strip, strip_.pitch), own.place),
                        builder.CreateSub(from, word_of(builder, own.from)));
  llvm::Value* extent =
      low_word(builder, builder.CreateMul(values_.axes.back().extent, values_.channels));
  llvm::Value* lane = builder.CreateURem(thread(), number(builder, warp_lanes));
  CountedLoop words(builder, builder.CreateAdd(from, times(builder, lane, strip_.word)), end,
                    number(builder, warp_lanes * strip_.word), "strip_word");
  llvm::Value* element = words.index();
  codegen::Conditional needed(builder, builder.CreateICmpSGE(element, word_of(builder, own.from)),
                              "strip_needed");
  llvm::Value* at = builder.CreateAdd(place, builder.CreateSub(element, from));
  copy_word(builder, at_byte(builder, strips_, strip_bytes(builder, at)), address_of(element),
            builder.CreateAnd(source.exists, builder.CreateICmpULT(element, extent)));
  needed.close();
  words.close();
}

// Rows of windows in row-major order of all axes but the last.
StripCopy::Source StripCopy::source_of(Builder& builder, llvm::Value* line,
                                       llvm::Value* strip) const {
  llvm::Value* offset = builder.getInt64(0);
  llvm::Value* exists = builder.getTrue();
  for (std::size_t i = layout_.axes.size() - 1; i-- > 0;) {
    const WindowValues::Axis& axis = values_.axes[i];
    llvm::Value* part = line;
    if (i > 0) {
      llvm::Value* count = low_word(builder, axis.count);
      part = builder.CreateURem(line, count);
      line = builder.CreateUDiv(line, count);
    }
    llvm::Value* at = builder.CreateSub(
        builder.CreateMul(builder.CreateZExt(part, builder.getInt64Ty()), axis.stride),
        axis.before);
    if (i + 2 == layout_.axes.size())
      at = builder.CreateAdd(at, builder.CreateMul(widened(builder, strip), axis.dilation));
    if (layout_.axes[i].is_checked)
      exists = builder.CreateAnd(exists, builder.CreateICmpULT(at, axis.extent));
    offset = builder.CreateAdd(offset, builder.CreateMul(at, axis.step));
  }
  llvm::Value* bytes =
      builder.CreateMul(offset, builder.getInt64(static_cast<std::uint64_t>(strip_.element)));
  return {at_byte(builder, origin_, bytes), exists};
}

void StripCopy::copy_word(Builder& builder, llvm::Value* place, llvm::Value* from,
                          llvm::Value* exists) const {
  const auto copy = [&](llvm::Value* bytes) {
    call(builder, Op::CopyAsync4, {place, from, bytes});
  };
  if (layout_.outside == 0) {
    return copy(
        builder.CreateSelect(exists, number(builder, strip_word_bytes), number(builder, 0)));
  }
  const auto fill = [&] {
    builder.CreateAlignedStore(builder.getInt32(0x01010101u * layout_.outside), place,
                               llvm::Align(strip_word_bytes));
  };
  codegen::choose(
      builder, exists, "fill_strip", [&] { copy(number(builder, strip_word_bytes)); }, fill);
}

ColumnCopy::PieceOfRow StripCopy::pieces_of(Builder& builder, const Column& column,
                                            std::span<llvm::Value* const> digits,
                                            llvm::Value* step) const {
  llvm::Value* exists = builder.CreateICmpSLT(k_of(builder, column, step), depth());
  llvm::Value* element = builder.CreateAdd(times(builder, digits[1], strip_.pitch), digits[0]);
  // Lanes beyond K read the last element with the lane that has it.
  element = builder.CreateSelect(
      exists, element, number(builder, (strip_.strips - 1) * strip_.pitch + strip_.run - 1));
  llvm::Value* tap = at_byte(builder, strips_, strip_bytes(builder, element));
  return [this, &builder, exists, tap](llvm::Value* row, llvm::Value* place) {
    llvm::Value* entry = builder.CreateAlignedLoad(
        builder.getInt32Ty(), at_byte(builder, table_, times(builder, row, strip_word_bytes)),
        llvm::Align(strip_word_bytes));
    return Piece{at_byte(builder, tap, entry), place, exists, nullptr, nullptr, 1};
  };
}

}  // namespace dyn::ptx
