#include "targets/cpu/move/moves.hpp"

#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/code/transpose.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;

llvm::Value* element(Builder& builder, llvm::Value* base, llvm::Value* index) {
  return builder.CreateGEP(builder.getFloatTy(), base, index);
}

llvm::FixedVectorType* vector_type(Builder& builder, const codegen::Isa& isa) {
  return llvm::FixedVectorType::get(builder.getFloatTy(), static_cast<unsigned>(isa.f32_lanes));
}

// to[i * to_stride] = from[i * from_stride], of `dtype`, for i in [begin, end).
void copy_elements(Builder& builder, DType dtype, llvm::Value* from, llvm::Value* from_stride,
                   llvm::Value* to, llvm::Value* to_stride, llvm::Value* begin, llvm::Value* end) {
  CountedLoop elements(builder, begin, end, builder.getInt64(1), "copy_element");
  llvm::Value* source =
      element_of(builder, dtype, from, builder.CreateMul(elements.index(), from_stride));
  llvm::Value* value = load_widened(builder, dtype, source, 1);
  builder.CreateAlignedStore(
      value, element(builder, to, builder.CreateMul(elements.index(), to_stride)), llvm::Align(4));
  elements.close();
}

// One panel whose source rows are contiguous: masked vectors, as the last panel may have fewer
// columns.
void pack_unit_panel(Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                     llvm::Value* source, llvm::Value* rows, llvm::Value* left, llvm::Value* to) {
  llvm::FixedVectorType* vector = vector_type(builder, isa);
  llvm::Value* lanes = codegen::iota(builder, builder.getInt64Ty(), isa.f32_lanes);
  CountedLoop depth(builder, builder.getInt64(0), rows, builder.getInt64(1), "pack_row");
  llvm::Value* row = element(builder, source, builder.CreateMul(depth.index(), from.row_stride));
  llvm::Value* packed_row =
      element(builder, to,
              builder.CreateMul(depth.index(),
                                builder.getInt64(static_cast<std::uint64_t>(isa.panel_f32))));
  for (int lane = 0; lane < isa.panel_f32; lane += isa.f32_lanes) {
    llvm::Value* offset = builder.getInt64(static_cast<std::uint64_t>(lane));
    llvm::Value* mask = builder.CreateICmpSLT(
        lanes, codegen::broadcast(builder, builder.CreateSub(left, offset), isa.f32_lanes));
    llvm::Value* zero = llvm::Constant::getNullValue(vector);
    llvm::Value* value =
        builder.CreateMaskedLoad(vector, element(builder, row, offset), llvm::Align(4), mask, zero);
    builder.CreateAlignedStore(value, element(builder, packed_row, offset), llvm::Align(4));
  }
  depth.close();
}

// One panel of any strides: column by column, then zeros for the columns that do not exist.
void pack_strided_panel(Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                        llvm::Value* source, llvm::Value* rows, llvm::Value* left,
                        llvm::Value* to) {
  llvm::Value* width = builder.getInt64(static_cast<std::uint64_t>(isa.panel_f32));
  llvm::Value* columns = builder.CreateSelect(builder.CreateICmpSLT(left, width), left, width);
  CountedLoop lanes(builder, builder.getInt64(0), columns, builder.getInt64(1), "pack_lane");
  llvm::Value* column =
      element(builder, source, builder.CreateMul(lanes.index(), from.column_stride));
  copy_elements(builder, from.dtype, column, from.row_stride, element(builder, to, lanes.index()),
                width, builder.getInt64(0), rows);
  lanes.close();
  CountedLoop missing(builder, columns, width, builder.getInt64(1), "pack_missing");
  CountedLoop depth(builder, builder.getInt64(0), rows, builder.getInt64(1), "pack_zero");
  llvm::Value* offset = builder.CreateAdd(builder.CreateMul(depth.index(), width), missing.index());
  builder.CreateAlignedStore(llvm::ConstantFP::get(builder.getFloatTy(), 0),
                             element(builder, to, offset), llvm::Align(4));
  depth.close();
  missing.close();
}

// A square of as many elements as a vector has: columns in, rows out.
void transpose_block(Builder& builder, const codegen::Isa& isa, const Transposition& matrix,
                     llvm::Value* i, llvm::Value* j, bool whole) {
  llvm::FixedVectorType* vector = vector_type(builder, isa);
  const auto next = [&](llvm::Value* address, llvm::Value* elements) {
    return element_of(builder, matrix.dtype, address, elements);
  };
  llvm::Value* source =
      next(matrix.from, builder.CreateAdd(i, builder.CreateMul(j, matrix.from_stride)));
  llvm::Value* row_left = builder.CreateSub(matrix.rows, i);
  llvm::Value* exists =
      builder.CreateICmpSLT(codegen::iota(builder, builder.getInt64Ty(), isa.f32_lanes),
                            codegen::broadcast(builder, row_left, isa.f32_lanes));
  std::vector<llvm::Value*> columns;
  for (int lane = 0; lane < isa.f32_lanes; ++lane) {
    if (whole) {
      columns.push_back(load_widened(builder, matrix.dtype, source, isa.f32_lanes));
    } else {
      llvm::Value* in_matrix = builder.CreateICmpSLT(
          builder.CreateAdd(j, builder.getInt64(static_cast<std::uint64_t>(lane))), matrix.columns);
      llvm::Value* mask =
          builder.CreateAnd(exists, codegen::broadcast(builder, in_matrix, isa.f32_lanes));
      llvm::Constant* zero = llvm::Constant::getNullValue(vector);
      if (matrix.dtype == DType::f32) {
        columns.push_back(builder.CreateMaskedLoad(vector, source, llvm::Align(4), mask, zero));
      } else {
        // Masked loads of narrow elements are slow or missing; a column that does not exist reads
        // the first one instead.
        llvm::Value* address = builder.CreateSelect(in_matrix, source, matrix.from);
        columns.push_back(builder.CreateSelect(
            mask, load_widened(builder, matrix.dtype, address, isa.f32_lanes), zero));
      }
    }
    source = next(source, matrix.from_stride);
  }
  llvm::Value* target =
      element(builder, matrix.to, builder.CreateAdd(builder.CreateMul(i, matrix.to_stride), j));
  for (llvm::Value* row : codegen::transpose(builder, columns)) {
    builder.CreateAlignedStore(row, target, llvm::Align(4));
    target = element(builder, target, matrix.to_stride);
  }
}

void pack_panel(Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                llvm::Value* source, llvm::Value* rows, llvm::Value* left, llvm::Value* to) {
  if (from.unit) return pack_unit_panel(builder, isa, from, source, rows, left, to);
  llvm::Value* width = builder.getInt64(static_cast<std::uint64_t>(isa.panel_f32));
  llvm::Value* columns = builder.CreateSelect(builder.CreateICmpSLT(left, width), left, width);
  llvm::Value* contiguous = builder.CreateICmpEQ(from.row_stride, builder.getInt64(1));
  Conditional transposed(builder, contiguous, "pack_transposed");
  emit_transposition(builder, isa, {source, from.column_stride, rows, columns, to, width}, width);
  transposed.close();
  Conditional strided(builder, builder.CreateNot(contiguous), "pack_strided");
  pack_strided_panel(builder, isa, from, source, rows, left, to);
  strided.close();
}

}  // namespace

void emit_transposition(Builder& builder, const codegen::Isa& isa, const Transposition& matrix,
                        llvm::Value* least_columns) {
  llvm::Value* step = builder.getInt64(static_cast<std::uint64_t>(isa.f32_lanes));
  llvm::Value* columns = builder.CreateSelect(builder.CreateICmpSLT(matrix.columns, least_columns),
                                              least_columns, matrix.columns);
  CountedLoop column(builder, builder.getInt64(0), columns, step, "transpose_column");
  CountedLoop row(builder, builder.getInt64(0), matrix.rows, step, "transpose_row");
  llvm::Value* rows_fit = builder.CreateICmpSLE(builder.CreateAdd(row.index(), step), matrix.rows);
  llvm::Value* columns_fit =
      builder.CreateICmpSLE(builder.CreateAdd(column.index(), step), matrix.columns);
  llvm::Value* fits = builder.CreateAnd(rows_fit, columns_fit);
  for (const bool whole : {true, false}) {
    Conditional block(builder, whole ? fits : builder.CreateNot(fits),
                      whole ? "whole_block" : "cut_block");
    transpose_block(builder, isa, matrix, row.index(), column.index(), whole);
    block.close();
  }
  row.close();
  column.close();
}

void emit_row_copy(Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                   llvm::Value* rows, llvm::Value* columns, llvm::Value* to, llvm::Value* to_row) {
  llvm::Value* one = builder.getInt64(1);
  const auto copy_rows = [&] {
    CountedLoop row(builder, builder.getInt64(0), rows, one, "copy_row");
    llvm::Value* source =
        element_of(builder, from.dtype, from.data, builder.CreateMul(row.index(), from.row_stride));
    llvm::Value* target = element(builder, to, builder.CreateMul(row.index(), to_row));
    llvm::Value* whole = builder.getInt64(0);
    if (from.unit) {
      whole = builder.CreateAnd(
          columns,
          builder.getInt64(static_cast<std::uint64_t>(-static_cast<std::int64_t>(isa.f32_lanes))));
      CountedLoop vectors(builder, builder.getInt64(0), whole,
                          builder.getInt64(static_cast<std::uint64_t>(isa.f32_lanes)),
                          "copy_vector");
      llvm::Value* value =
          load_widened(builder, from.dtype,
                       element_of(builder, from.dtype, source, vectors.index()), isa.f32_lanes);
      builder.CreateAlignedStore(value, element(builder, target, vectors.index()), llvm::Align(4));
      vectors.close();
    }
    copy_elements(builder, from.dtype, source, from.column_stride, target, one, whole, columns);
    row.close();
  };
  if (from.unit) return copy_rows();
  llvm::Value* contiguous = builder.CreateICmpEQ(from.row_stride, one);
  Conditional transposed(builder, contiguous, "copy_transposed");
  emit_transposition(builder, isa,
                     {from.data, from.column_stride, rows, columns, to, to_row, from.dtype},
                     builder.getInt64(0));
  transposed.close();
  Conditional strided(builder, builder.CreateNot(contiguous), "copy_strided");
  copy_rows();
  strided.close();
}

void emit_columns_as_rows(Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                          llvm::Value* rows, llvm::Value* columns, llvm::Value* to,
                          llvm::Value* to_row) {
  llvm::Value *none = builder.getInt64(0), *one = builder.getInt64(1);
  if (from.unit) {
    CountedLoop squares(builder, none, rows,
                        builder.getInt64(static_cast<std::uint64_t>(isa.f32_lanes)),
                        "turn_columns");
    transpose_block(builder, isa,
                    {from.data, from.row_stride, columns, rows, to, to_row, from.dtype}, none,
                    squares.index(), false);
    squares.close();
    return;
  }
  CountedLoop column(builder, none, columns, one, "copy_column");
  llvm::Value* source = element_of(builder, from.dtype, from.data,
                                   builder.CreateMul(column.index(), from.column_stride));
  copy_elements(builder, from.dtype, source, from.row_stride,
                element(builder, to, builder.CreateMul(column.index(), to_row)), one, none, rows);
  column.close();
}

void emit_panels(Builder& builder, const codegen::Isa& isa, const StridedMatrix& from,
                 llvm::Value* rows, llvm::Value* panels, llvm::Value* columns, llvm::Value* to) {
  llvm::Value* width = builder.getInt64(static_cast<std::uint64_t>(isa.panel_f32));
  llvm::Value* panel_size = builder.CreateMul(rows, width);
  CountedLoop panel(builder, builder.getInt64(0), panels, builder.getInt64(1), "pack_panel");
  llvm::Value* first = builder.CreateMul(panel.index(), width);
  llvm::Value* source = element(builder, from.data, builder.CreateMul(first, from.column_stride));
  llvm::Value* target = element(builder, to, builder.CreateMul(panel.index(), panel_size));
  pack_panel(builder, isa, from, source, rows, builder.CreateSub(columns, first), target);
  panel.close();
}

}  // namespace dyn::cpu
