#include "targets/ptx/contraction/epilogue.hpp"

#include <algorithm>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"

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

llvm::Value* Epilogue::place(llvm::Value* shared, llvm::Value* row, llvm::Value* column) {
  llvm::Value* element =
      builder_.CreateAdd(builder_.CreateMul(row, number(tile_.row_floats)), column);
  return builder_.CreateGEP(builder_.getFloatTy(), shared, element);
}

void Epilogue::publish(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                       llvm::Value* shared, Publish how) {
  const auto together = static_cast<std::size_t>(places.side_by_side());
  const llvm::Align alignment(sizeof(float) * together);
  for (std::size_t i = 0; i < accumulators.size(); i += together) {
    llvm::Value* stored = accumulators[i];
    if (together > 1) {
      stored = llvm::PoisonValue::get(
          llvm::FixedVectorType::get(builder_.getFloatTy(), static_cast<unsigned>(together)));
      for (std::size_t j = 0; j < together; ++j)
        stored = builder_.CreateInsertElement(stored, accumulators[i + j], j);
    }
    const OutputPlaces::Place at = places.place(builder_, i);
    llvm::Value* address = place(shared, at.row, at.column);
    if (how == Publish::Add) {
      stored = builder_.CreateFAdd(
          builder_.CreateAlignedLoad(stored->getType(), address, alignment), stored);
    }
    builder_.CreateAlignedStore(stored, address, alignment);
  }
}

void Epilogue::emit(const OutputPlaces& places, std::span<llvm::Value* const> accumulators,
                    llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs) {
  call(builder_, Op::Barrier);
  publish(places, accumulators, shared);
  emit_published(shared, thread, outputs);
}

void Epilogue::emit_published(llvm::Value* shared, llvm::Value* thread,
                              const BlockOutputs& outputs) {
  call(builder_, Op::Barrier);
  compiler_.enter(codegen::axis_bit(tile_.m) | codegen::axis_bit(tile_.n), roots_of(problem_));
  // Neighbouring threads take neighbouring columns. Threads that are left over when whole rows are
  // taken have no column.
  const int row_step = std::max(1, tile_.threads / tile_.columns);
  llvm::Value *column = thread, *row = number(0);
  if (tile_.threads > tile_.columns) {
    llvm::Value* has_row = builder_.CreateICmpULT(thread, number(row_step * tile_.columns));
    column = builder_.CreateSelect(has_row, builder_.CreateURem(thread, number(tile_.columns)),
                                   outputs.columns);
    row = builder_.CreateUDiv(thread, number(tile_.columns));
  }
  CountedLoop columns(builder_, column, outputs.columns, number(tile_.threads), "epilogue_column");
  operands_.set_index(
      tile_.n,
      builder_.CreateAdd(outputs.n, builder_.CreateZExt(columns.index(), builder_.getInt64Ty())));
  compiler_.enter(codegen::axis_bit(tile_.m), roots_of(problem_));
  emit_rows(shared, columns.index(), row, row_step, outputs);
  compiler_.leave();
  columns.close();
  compiler_.leave();
  call(builder_, Op::Barrier);
}

void Epilogue::emit_rows(llvm::Value* shared, llvm::Value* column, llvm::Value* first_row,
                         int row_step, const BlockOutputs& outputs) {
  const int straight = std::min(straight_rows, std::max(1, tile_.rows / row_step));
  CountedLoop rows(builder_, first_row, outputs.rows, number(row_step * straight), "epilogue_row");
  const auto at = [&](int i) {
    llvm::Value* row = builder_.CreateAdd(rows.index(), number(i * row_step));
    llvm::Value* exists = i == 0 ? nullptr : builder_.CreateICmpSLT(row, outputs.rows);
    operands_.set_mask(exists);
    operands_.set_index(
        tile_.m, builder_.CreateAdd(outputs.m, builder_.CreateZExt(row, builder_.getInt64Ty())));
    return exists == nullptr ? row : builder_.CreateSelect(exists, row, rows.index());
  };
  std::vector<std::vector<llvm::Value*>> values;
  for (int i = 0; i < straight; ++i) {
    llvm::Value* row = at(i);
    compiler_.enter(0);
    compiler_.bind_accumulator(builder_.CreateAlignedLoad(
        builder_.getFloatTy(), place(shared, row, column), llvm::Align(4)));
    values.emplace_back();
    for (const rkernel::Store& store : problem_.stores)
      values.back().push_back(compiler_.compile(store.expr));
    compiler_.leave();
  }
  for (int i = 0; i < straight; ++i) {
    at(i);
    compiler_.enter(0);
    for (std::size_t store = 0; store < problem_.stores.size(); ++store) {
      operands_.store(problem_.stores[store].operand, values[static_cast<std::size_t>(i)][store]);
    }
    compiler_.leave();
  }
  operands_.set_mask(nullptr);
  rows.close();
}

}  // namespace dyn::ptx
