#include "targets/ptx/contraction/epilogue.hpp"

#include <algorithm>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::CountedLoop;

/// Rows whose loads are in flight together, in one body.
constexpr int straight_rows = 2;

std::vector<int> roots_of(const rkernel::Problem& problem) {
  std::vector<int> exprs;
  for (const rkernel::Store& store : problem.stores) exprs.push_back(store.expr);
  return exprs;
}

}  // namespace

llvm::Type* Epilogue::sum_type(int width) {
  llvm::Type* type = tile_.integers ? builder_.getInt32Ty() : builder_.getFloatTy();
  return codegen::lanes_of(type, width);
}

llvm::Value* Epilogue::place(llvm::Value* shared, llvm::Value* row, llvm::Value* column) {
  llvm::Value* element =
      builder_.CreateAdd(builder_.CreateMul(row, number(tile_.row_floats)), column);
  return builder_.CreateGEP(builder_.getFloatTy(), shared, element);
}

llvm::Value* Epilogue::joined(const OutputPlaces& places,
                              std::span<llvm::Value* const> accumulators, std::size_t index) {
  const auto together = static_cast<std::size_t>(places.side_by_side());
  if (together == 1) return accumulators[index];
  llvm::Value* stored = llvm::PoisonValue::get(sum_type(static_cast<int>(together)));
  for (std::size_t i = 0; i < together; ++i)
    stored = builder_.CreateInsertElement(stored, accumulators[index + i], i);
  return stored;
}

void Epilogue::publish(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                       llvm::Value* shared, Publish how) {
  const auto together = static_cast<std::size_t>(places.side_by_side());
  const llvm::Align alignment(sizeof(float) * together);
  for (std::size_t i = 0; i < accumulators.size(); i += together) {
    llvm::Value* stored = joined(places, accumulators, i);
    const OutputPlaces::Place at = places.place(builder_, i);
    llvm::Value* address = place(shared, at.row, at.column);
    if (how == Publish::Add) {
      llvm::Value* there = builder_.CreateAlignedLoad(stored->getType(), address, alignment);
      stored =
          tile_.integers ? builder_.CreateAdd(there, stored) : builder_.CreateFAdd(there, stored);
    }
    builder_.CreateAlignedStore(stored, address, alignment);
  }
}

void Epilogue::emit(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                    llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs) {
  call(builder_, Op::Barrier);
  if (tile_.bands > 1) return emit_bands(places, accumulators, shared, thread, outputs);
  publish(places, accumulators, shared);
  emit_published(shared, thread, outputs);
}

// One body for all bands, as what computes and stores the outputs is long.
void Epilogue::emit_bands(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                          llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs) {
  CountedLoop bands(builder_, number(0), number(tile_.bands), number(1), "output_band");
  bands.keep_rolled();
  band_ = bands.index();
  for (int band = 0; band < tile_.bands; ++band) {
    codegen::Conditional is_band(builder_, builder_.CreateICmpEQ(band_, number(band)),
                                 "publish_band");
    publish_band(places, accumulators, shared, band);
    is_band.close();
  }
  emit_published(shared, thread, outputs);
  band_ = nullptr;
  bands.close();
}

// All of a lane's places are in the rows of one warp.
void Epilogue::publish_band(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                            llvm::Value* shared, int band) {
  const auto together = static_cast<std::size_t>(places.side_by_side());
  llvm::Value* warp = builder_.CreateUDiv(places.place(builder_, 0).row, number(tile_.warp_rows));
  llvm::Value* left_out = builder_.CreateAdd(
      builder_.CreateMul(warp, number(tile_.warp_rows - band_rows())), number(band * band_rows()));
  for (std::size_t i = 0; i < accumulators.size(); i += together) {
    if (places.first_row(i) / band_rows() != band) continue;
    const OutputPlaces::Place at = places.place(builder_, i);
    builder_.CreateAlignedStore(joined(places, accumulators, i),
                                place(shared, builder_.CreateSub(at.row, left_out), at.column),
                                llvm::Align(sizeof(float) * together));
  }
}

llvm::Value* Epilogue::rows_in_band(llvm::Value* rows) {
  if (band_ == nullptr) return rows;
  llvm::Value* warps = builder_.CreateUDiv(rows, number(tile_.warp_rows));
  llvm::Value* rest = builder_.CreateSub(builder_.CreateURem(rows, number(tile_.warp_rows)),
                                         builder_.CreateMul(band_, number(band_rows())));
  rest = smaller(builder_, larger(builder_, rest, number(0)), number(band_rows()));
  return builder_.CreateAdd(builder_.CreateMul(warps, number(band_rows())), rest);
}

llvm::Value* Epilogue::row_of_block(llvm::Value* row) {
  if (band_ == nullptr) return row;
  llvm::Value* warp = builder_.CreateUDiv(row, number(band_rows()));
  llvm::Value* left_out =
      builder_.CreateAdd(builder_.CreateMul(warp, number(tile_.warp_rows - band_rows())),
                         builder_.CreateMul(band_, number(band_rows())));
  return builder_.CreateAdd(row, left_out);
}

void Epilogue::emit_published(llvm::Value* shared, llvm::Value* thread,
                              const BlockOutputs& outputs) {
  call(builder_, Op::Barrier);
  const auto by_elements = [&] { emit_columns(single_, shared, thread, outputs); };
  const auto by_vectors = [&] { emit_columns(*vectors_, shared, thread, outputs); };
  if (!vectors_)
    by_elements();
  else if (usable_ == nullptr)
    by_vectors();
  else
    codegen::choose(builder_, usable_, "vector_outputs", by_vectors, by_elements);
  call(builder_, Op::Barrier);
}

// Neighbouring threads take neighbouring columns, or vectors of them. Threads that are left over
// when whole rows are taken have no column.
void Epilogue::emit_columns(const OutputLanes& lanes, llvm::Value* shared, llvm::Value* thread,
                            const BlockOutputs& outputs) {
  auto& [operands, compiler] = lanes;
  const int width = operands.width(), in_row = tile_.columns / width;
  compiler.enter(row_axes() | codegen::axis_bit(tile_.n), roots_of(problem_));
  const int row_step = std::max(1, tile_.threads / in_row);
  llvm::Value *column = builder_.CreateMul(thread, number(width)), *row = number(0);
  if (tile_.threads > in_row) {
    llvm::Value* has_row = builder_.CreateICmpULT(thread, number(row_step * in_row));
    column = builder_.CreateMul(builder_.CreateURem(thread, number(in_row)), number(width));
    column = builder_.CreateSelect(has_row, column, outputs.columns);
    row = builder_.CreateUDiv(thread, number(in_row));
  }
  CountedLoop columns(builder_, column, outputs.columns, number(tile_.threads * width),
                      "epilogue_column");
  operands.set_index(
      tile_.n,
      builder_.CreateAdd(outputs.n, builder_.CreateZExt(columns.index(), builder_.getInt64Ty())));
  compiler.enter(row_axes(), roots_of(problem_));
  emit_rows(lanes, shared, columns.index(), row, row_step, outputs);
  compiler.leave();
  columns.close();
  compiler.leave();
}

void Epilogue::set_row(codegen::Operands& operands, const BlockOutputs& outputs, llvm::Value* row) {
  if (tile_.counted.axes != 0) return tile_.counted.set_indices(operands, row);
  operands.set_index(
      tile_.m, builder_.CreateAdd(outputs.m, builder_.CreateZExt(row, builder_.getInt64Ty())));
}

void Epilogue::emit_rows(const OutputLanes& lanes, llvm::Value* shared, llvm::Value* column,
                         llvm::Value* first_row, int row_step, const BlockOutputs& outputs) {
  auto& [operands, compiler] = lanes;
  const int straight = std::min(straight_rows, std::max(1, tile_.rows / tile_.bands / row_step));
  llvm::Value* end = rows_in_band(outputs.rows);
  CountedLoop rows(builder_, first_row, end, number(row_step * straight), "epilogue_row");
  const auto at = [&](int i) {
    llvm::Value* row = builder_.CreateAdd(rows.index(), number(i * row_step));
    llvm::Value* exists = i == 0 ? nullptr : builder_.CreateICmpSLT(row, end);
    operands.set_mask(exists);
    set_row(operands, outputs, row_of_block(row));
    return exists == nullptr ? row : builder_.CreateSelect(exists, row, rows.index());
  };
  std::vector<std::vector<llvm::Value*>> values;
  for (int i = 0; i < straight; ++i) {
    llvm::Value* row = at(i);
    compiler.enter(0);
    std::vector<llvm::Value*> sums;
    for (int side = 0; side < tile_.sides; ++side) {
      llvm::Value* of_side =
          side == 0 ? column : builder_.CreateAdd(column, number(side * tile_.columns));
      sums.push_back(published(shared, row, of_side, operands.width()));
    }
    compiler.bind_accumulators(sums);
    values.emplace_back();
    for (const rkernel::Store& store : problem_.stores)
      values.back().push_back(compiler.compile(store.expr));
    compiler.leave();
  }
  for (int i = 0; i < straight; ++i) {
    at(i);
    compiler.enter(0);
    for (std::size_t store = 0; store < problem_.stores.size(); ++store)
      operands.store(problem_.stores[store].operand, values[static_cast<std::size_t>(i)][store]);
    compiler.leave();
  }
  operands.set_mask(nullptr);
  rows.close();
}

llvm::Value* Epilogue::published(llvm::Value* shared, llvm::Value* row, llvm::Value* column,
                                 int width) {
  return builder_.CreateAlignedLoad(sum_type(width), place(shared, row, column),
                                    llvm::Align(sizeof(float) * static_cast<std::size_t>(width)));
}

}  // namespace dyn::ptx
