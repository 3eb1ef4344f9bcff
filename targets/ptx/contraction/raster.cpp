#include "targets/ptx/contraction/raster.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/ir/divider.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
RasterSlots add_raster_slots(codegen::SlotTable& slots, const rkernel::Problem& problem) {
  RasterSlots raster{};
  raster.inner_batches.resize(std::max<std::size_t>(1, batch_axes(problem).size()) - 1);
  for (int* slot : {&raster.m_blocks, &raster.n_blocks}) *slot = slots.add_strategy_slot();
  const auto add = [&](RasterSlots::DividerSlots& divider) {
    for (int* slot : {&divider.multiplier, &divider.shift}) *slot = slots.add_strategy_slot();
  };
  for (auto* divider : {&raster.batch, &raster.group, &raster.rest}) add(*divider);
  for (RasterSlots::DividerSlots& divider : raster.inner_batches) add(divider);
  return raster;
}

void fill_raster(const RasterSlots& raster, const rkernel::Problem& problem,
                 const codegen::SlotTable& slots, std::int64_t m_blocks, std::int64_t n_blocks,
                 std::span<std::int64_t> ints) {
  const auto set = [&](int slot, std::int64_t value) {
    ints[static_cast<std::size_t>(slot)] = value;
  };
  const auto set_divider = [&](const RasterSlots::DividerSlots& of, std::int64_t divisor) {
    const Divider divider = divider_of(divisor, 32);
    set(of.multiplier, static_cast<std::int64_t>(divider.multiplier));
    set(of.shift, divider.shift);
  };
  set(raster.m_blocks, m_blocks);
  set(raster.n_blocks, n_blocks);
  set_divider(raster.batch, m_blocks * n_blocks);
  set_divider(raster.group, choice::raster_rows * n_blocks);
  set_divider(raster.rest, m_blocks % choice::raster_rows);
  const std::vector<int> axes = batch_axes(problem);
  for (std::size_t i = 0; i < raster.inner_batches.size(); ++i)
    set_divider(raster.inner_batches[i], codegen::value_of(slots.extent(axes[i + 1]), ints));
}

std::map<int, llvm::Value*> locate_ticket(codegen::Builder& builder,
                                          const rkernel::Problem& problem,
                                          const RasterSlots& raster,
                                          const codegen::SlotTable& slots, llvm::Value* ints,
                                          llvm::Value* ticket) {
  const auto word = [&](int slot) { return load_word(builder, ints, slot); };
  const auto quotient = [&](llvm::Value* value, const RasterSlots::DividerSlots& by) {
    return divided(builder, value, word(by.multiplier), word(by.shift));
  };
  const auto rest = [&](llvm::Value* value, llvm::Value* quotient, llvm::Value* by) {
    return builder.CreateSub(value, builder.CreateMul(quotient, by));
  };
  llvm::Value *m_blocks = word(raster.m_blocks), *n_blocks = word(raster.n_blocks),
              *rows_of_group = number(builder, choice::raster_rows);
  llvm::Value* batch = quotient(ticket, raster.batch);
  llvm::Value* block = rest(ticket, batch, builder.CreateMul(m_blocks, n_blocks));
  llvm::Value* group = quotient(block, raster.group);
  llvm::Value* within = rest(block, group, builder.CreateMul(n_blocks, rows_of_group));
  llvm::Value* first_row = builder.CreateMul(group, rows_of_group);
  llvm::Value* rows = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder.CreateSub(m_blocks, first_row), rows_of_group);
  llvm::Value* column = builder.CreateSelect(builder.CreateICmpEQ(rows, rows_of_group),
                                             builder.CreateUDiv(within, rows_of_group),
                                             quotient(within, raster.rest));
  std::map<int, llvm::Value*> indices{
      {problem.contraction->m, builder.CreateAdd(first_row, rest(within, column, rows))},
      {problem.contraction->n, column}};
  const std::vector<int> axes = batch_axes(problem);
  for (std::size_t i = axes.size(); i-- > 0;) {
    llvm::Value* outer = i == 0 ? nullptr : quotient(batch, raster.inner_batches[i - 1]);
    indices[axes[i]] = i == 0 ? batch : rest(batch, outer, word(slots.extent(axes[i])));
    batch = outer;
  }
  for (auto& [axis, index] : indices) index = builder.CreateZExt(index, builder.getInt64Ty());
  return indices;
}

}  // namespace dyn::ptx
