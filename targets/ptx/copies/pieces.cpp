#include "targets/ptx/copies/pieces.hpp"

#include <optional>

#include "dyn/error.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;

llvm::Value* to_f32(Builder& builder, DType from, llvm::Value* value) {
  if (from == DType::f32) return value;
  if (from == DType::f16) return call(builder, Op::FromF16, {value});
  llvm::Value* bits = builder.CreateShl(builder.CreateZExt(value, builder.getInt32Ty()), 16);
  return builder.CreateBitCast(bits, builder.getFloatTy());
}

llvm::Value* converted(Builder& builder, DType from, DType to, llvm::Value* value) {
  if (from == to) return value;
  llvm::Value* number = to_f32(builder, from, value);
  if (to == DType::f32) return number;
  return call(builder, to == DType::f16 ? Op::ToF16 : Op::ToBf16, {number});
}

// The type of an element in memory: those of fewer than 4 bytes as their bits.
llvm::Type* element_type(Builder& builder, DType dtype) {
  if (dtype == DType::f32) return builder.getFloatTy();
  return builder.getIntNTy(static_cast<unsigned>(8 * bytes_of(dtype)));
}

llvm::Align alignment_of(DType dtype, int elements) {
  return llvm::Align(static_cast<std::uint64_t>(bytes_of(dtype) * elements));
}

/// if (condition) ..., where there is a condition.
std::optional<codegen::Conditional> where(Builder& builder, llvm::Value* condition) {
  std::optional<codegen::Conditional> conditional;
  if (condition != nullptr) conditional.emplace(builder, condition, "copy_inside");
  return conditional;
}

}  // namespace

char letter_of(Copy copy) { return "vwesc"[static_cast<std::size_t>(copy)]; }

std::string_view text_of(Copy copy) {
  constexpr std::string_view texts[] = {"as vectors", "by words", "by element", "from strips",
                                        "computed"};
  return texts[static_cast<std::size_t>(copy)];
}

int bytes_of(DType dtype) { return static_cast<int>(size_of(dtype)); }

PieceCopies::PieceCopies(DType tile, DType source, Copy copy, std::uint8_t fill)
    : tile_(tile), source_(source), copy_(copy), fill_(fill) {
  const bool bytes = tile == source && is_byte(tile);
  for (const DType dtype : {tile, source}) {
    if (!is_float(dtype) && !bytes)
      throw Error(ErrorKind::unsupported, "a contraction on a GPU does not copy elements of " +
                                              std::string(name_of(dtype)));
  }
  if (in_chunks() && tile != source) {
    throw Error(ErrorKind::internal, "a copy of chunks from " + std::string(name_of(source)) +
                                         " to " + std::string(name_of(tile)));
  }
}

// Synchronous copies: all loads before the first store.
void PieceCopies::emit(Builder& builder, const std::vector<Piece>& pieces) const {
  std::vector<llvm::Value*> values;
  for (const Piece& piece : pieces)
    values.push_back(asynchronous() ? nullptr : load(builder, piece));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    std::optional<codegen::Conditional> within = where(builder, piece.inside);
    llvm::Value* bytes = number(builder, bytes_of(DType::f32));
    if (asynchronous() && piece.exists != nullptr)
      bytes = builder.CreateSelect(piece.exists, bytes, number(builder, 0));
    if (in_chunks())
      copy_chunk(builder, piece);
    else if (!asynchronous())
      builder.CreateAlignedStore(values[i], piece.place, alignment_of(tile_, piece.elements));
    else
      call(builder, Op::CopyAsync4, {piece.place, piece.from, bytes});
    if (within) within->close();
  }
}

void PieceCopies::copy_chunk(Builder& builder, const Piece& piece) const {
  const Op op = copy_ == Copy::Vectors ? Op::CopyAsync16 : Op::CopyAsync4;
  const auto copy = [&] { call(builder, op, {piece.place, piece.from, piece.bytes}); };
  if (fill_ == 0) return copy();
  const auto fill = [&] {
    builder.CreateAlignedStore(llvm::ConstantVector::getSplat(
                                   llvm::ElementCount::getFixed(static_cast<unsigned>(chunk()) / 4),
                                   builder.getInt32(0x01010101u * fill_)),
                               piece.place, llvm::Align(static_cast<std::uint64_t>(chunk())));
  };
  codegen::choose(builder, builder.CreateICmpNE(piece.bytes, number(builder, 0)), "fill_chunk",
                  copy, fill);
}

llvm::Value* PieceCopies::load(Builder& builder, const Piece& piece) const {
  llvm::Type* type = element_type(builder, source_);
  const llvm::Align alignment = alignment_of(source_, piece.elements);
  llvm::Value* loaded =
      builder.CreateAlignedLoad(codegen::lanes_of(type, piece.elements), piece.from, alignment);
  if (piece.exists != nullptr)
    loaded = builder.CreateSelect(
        piece.exists, loaded,
        fill_ == 0 ? llvm::Constant::getNullValue(type) : llvm::ConstantInt::get(type, fill_));
  return as_stored(builder, loaded);
}

llvm::Value* PieceCopies::as_stored(Builder& builder, llvm::Value* loaded) const {
  const int elements = codegen::width_of(loaded);
  if (elements == 1 || source_ == tile_) return converted(builder, source_, tile_, loaded);
  llvm::Value* values =
      llvm::PoisonValue::get(codegen::lanes_of(element_type(builder, tile_), elements));
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(elements); ++i) {
    values = builder.CreateInsertElement(
        values, converted(builder, source_, tile_, builder.CreateExtractElement(loaded, i)), i);
  }
  return values;
}

}  // namespace dyn::ptx
