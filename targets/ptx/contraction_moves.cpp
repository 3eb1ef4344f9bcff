#include "targets/ptx/contraction_moves.hpp"

#include <llvm/IR/Intrinsics.h>

#include <optional>

#include "dyn/error.hpp"
#include "targets/llvm/loops.hpp"
#include "targets/ptx/device_module.hpp"
#include "targets/ptx/device_ops.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;

/// Copies that one thread makes in straight line: their loads are in flight together.
constexpr int straight_copies = 8;

llvm::ConstantInt* number(Builder& builder, int value) { return builder.getInt32(static_cast<std::uint32_t>(value)); }
int bytes_of(DType dtype) { return static_cast<int>(size_of(dtype)); }

llvm::Value* at_byte(Builder& builder, llvm::Value* base, llvm::Value* bytes) { return builder.CreateGEP(builder.getInt8Ty(), base, bytes); }

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

// As it lies in memory: 2-byte elements as their bits.
llvm::Type* element_type(Builder& builder, DType dtype) { return dtype == DType::f32 ? builder.getFloatTy() : static_cast<llvm::Type*>(builder.getInt16Ty()); }

/// if (condition), where there is one.
std::optional<codegen::Conditional> where(Builder& builder, llvm::Value* condition) {
  std::optional<codegen::Conditional> conditional;
  if (condition != nullptr) conditional.emplace(builder, condition, "copy_inside");
  return conditional;
}

int largest_divisor(int value, int most) {
  int divisor = most < value ? most : value;
  while (value % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

TileCopy::TileCopy(const SharedTile& tile, DType tile_dtype, DType source_dtype, Copy copy, int threads)
    : tile_(tile),
      tile_dtype_(tile_dtype),
      source_dtype_(source_dtype),
      copy_(copy),
      threads_(threads),
      units_in_row_(copy == Copy::Vectors ? tile.chunks() : tile.row_bytes / bytes_of(tile_dtype)) {
  for (const DType dtype : {tile_dtype, source_dtype}) {
    if (!is_float(dtype)) throw Error(ErrorKind::unsupported, "a contraction on a GPU does not copy elements of " + std::string(name_of(dtype)));
  }
  if (copy == Copy::Vectors && tile_dtype != source_dtype) {
    throw Error(ErrorKind::internal, "a copy of vectors from " + std::string(name_of(source_dtype)) + " to " + std::string(name_of(tile_dtype)));
  }
}

void TileCopy::prepare(Builder& builder, llvm::Value* thread, llvm::Value* row_stride, llvm::Value* column_stride) {
  thread_ = thread;
  row_stride_ = row_stride;
  column_stride_ = column_stride;
  row_bytes_ = builder.CreateMul(row_stride, builder.getInt64(size_of(source_dtype_)));
  along_rows_ = builder.CreateICmpEQ(row_stride, builder.getInt64(1));
}

llvm::Value* TileCopy::inside(Builder& builder, llvm::Value* index) const {
  return units() % threads_ == 0 ? nullptr : builder.CreateICmpULT(index, number(builder, units()));
}

TileCopy::Unit TileCopy::unit_at(Builder& builder, llvm::Value* index) const {
  const auto quotient = [&](int by) { return builder.CreateUDiv(index, number(builder, by)); };
  const auto remainder = [&](int by) { return builder.CreateURem(index, number(builder, by)); };
  if (copy_ == Copy::Vectors) return {quotient(units_in_row_), remainder(units_in_row_)};
  return {builder.CreateSelect(along_rows_, remainder(tile_.rows), quotient(units_in_row_)),
          builder.CreateSelect(along_rows_, quotient(tile_.rows), remainder(units_in_row_))};
}

void TileCopy::issue(Builder& builder, const TileSource& source, llvm::Value* destination) const {
  const int copies = (units() + threads_ - 1) / threads_;
  const int straight = largest_divisor(copies, straight_copies);
  if (straight == copies) {
    issue_straight(builder, source, destination, thread_, copies);
    return;
  }
  codegen::CountedLoop trips(builder, number(builder, 0), number(builder, copies), number(builder, straight), "copy");
  llvm::Value* first = builder.CreateAdd(thread_, builder.CreateMul(trips.index(), number(builder, threads_)));
  issue_straight(builder, source, destination, first, straight);
  trips.close();
}

void TileCopy::issue_straight(Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* first, int copies) const {
  if (copy_ == Copy::Vectors) return copy_chunks(builder, source, destination, first, copies);
  std::vector<Pending> pending;
  for (int i = 0; i < copies; ++i) {
    llvm::Value* index = builder.CreateAdd(first, number(builder, i * threads_));
    if (asynchronous()) copy_element(builder, source, destination, index);
    else pending.push_back(load_element(builder, source, destination, index));
  }
  for (const Pending& element : pending) {
    std::optional<codegen::Conditional> exists = where(builder, element.inside);
    builder.CreateAlignedStore(element.value, element.place, llvm::Align(static_cast<std::uint64_t>(bytes_of(tile_dtype_))));
    if (exists) exists->close();
  }
}

TileCopy::Chunk TileCopy::chunk_at(Builder& builder, llvm::Value* index) const {
  const Unit unit = unit_at(builder, index);
  llvm::Value* column_bytes = builder.CreateZExt(builder.CreateMul(unit.column, number(builder, chunk_bytes)), builder.getInt64Ty());
  llvm::Value* from = builder.CreateAdd(builder.CreateMul(builder.CreateZExt(unit.row, builder.getInt64Ty()), row_bytes_), column_bytes);
  return {unit, from, tile_.chunk_offset(builder, unit.row, unit.column)};
}

// In the same column, a whole number of the tile's periods below.
TileCopy::Chunk TileCopy::chunk_after(Builder& builder, const Chunk& first, int rows) const {
  llvm::Value* below = builder.CreateMul(row_bytes_, builder.getInt64(static_cast<std::uint64_t>(rows)));
  return {{builder.CreateAdd(first.unit.row, number(builder, rows)), first.unit.column},
          builder.CreateAdd(first.from, below),
          builder.CreateAdd(first.to, number(builder, rows * tile_.stride_bytes()))};
}

void TileCopy::copy_chunks(Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* first, int copies) const {
  const int rows = threads_ / units_in_row_;
  const bool same_column = threads_ % units_in_row_ == 0 && rows % tile_.period() == 0;
  const Chunk chunk = chunk_at(builder, first);
  for (int i = 0; i < copies; ++i) {
    llvm::Value* index = builder.CreateAdd(first, number(builder, i * threads_));
    std::optional<codegen::Conditional> exists = where(builder, inside(builder, index));
    copy_chunk(builder, source, destination, i == 0 ? chunk : same_column ? chunk_after(builder, chunk, i * rows) : chunk_at(builder, index));
    if (exists) exists->close();
  }
}

void TileCopy::copy_chunk(Builder& builder, const TileSource& source, llvm::Value* destination, const Chunk& chunk) const {
  llvm::Value* columns = builder.CreateMul(source.columns, number(builder, bytes_of(source_dtype_)));
  llvm::Value* left = builder.CreateSub(columns, builder.CreateMul(chunk.unit.column, number(builder, chunk_bytes)));
  left = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, number(builder, 0));
  left = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, number(builder, chunk_bytes));
  llvm::Value* bytes = builder.CreateSelect(builder.CreateICmpSLT(chunk.unit.row, source.rows), left, number(builder, 0));
  llvm::Value* nothing = builder.CreateICmpEQ(bytes, number(builder, 0));
  llvm::Value* from = builder.CreateSelect(nothing, source.origin, at_byte(builder, source.origin, chunk.from));
  call(builder, Op::CopyAsync16, {at_byte(builder, destination, chunk.to), from, bytes});
}

TileCopy::Element TileCopy::element_at(Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* index) const {
  const Unit unit = unit_at(builder, index);
  llvm::Value* within = inside(builder, index);
  llvm::Value* exists = builder.CreateAnd(builder.CreateICmpSLT(unit.row, source.rows), builder.CreateICmpSLT(unit.column, source.columns));
  if (within != nullptr) exists = builder.CreateAnd(exists, within);
  llvm::Value* row = builder.CreateMul(builder.CreateZExt(unit.row, builder.getInt64Ty()), row_stride_);
  llvm::Value* column = builder.CreateMul(builder.CreateZExt(unit.column, builder.getInt64Ty()), column_stride_);
  llvm::Value* from = builder.CreateGEP(element_type(builder, source_dtype_), source.origin, builder.CreateAdd(row, column));
  llvm::Value* place = tile_.element_offset(builder, unit.row, unit.column, bytes_of(tile_dtype_));
  return {builder.CreateSelect(exists, from, source.origin), at_byte(builder, destination, place), exists, within};
}

void TileCopy::copy_element(Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* index) const {
  const Element element = element_at(builder, source, destination, index);
  llvm::Value* bytes = builder.CreateSelect(element.exists, number(builder, bytes_of(DType::f32)), number(builder, 0));
  std::optional<codegen::Conditional> within = where(builder, element.inside);
  call(builder, Op::CopyAsync4, {element.place, element.from, bytes});
  if (within) within->close();
}

TileCopy::Pending TileCopy::load_element(Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* index) const {
  const Element element = element_at(builder, source, destination, index);
  llvm::Type* type = element_type(builder, source_dtype_);
  llvm::Value* loaded = builder.CreateAlignedLoad(type, element.from, llvm::Align(static_cast<std::uint64_t>(bytes_of(source_dtype_))));
  llvm::Value* value = builder.CreateSelect(element.exists, loaded, llvm::Constant::getNullValue(type));
  return {converted(builder, source_dtype_, tile_dtype_, value), element.place, element.inside};
}

}  // namespace dyn::ptx
