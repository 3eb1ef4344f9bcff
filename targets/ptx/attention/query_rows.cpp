#include "targets/ptx/attention/query_rows.hpp"

#include "targets/ptx/ir/divider.hpp"

namespace dyn::ptx {

int axis_of_shared_heads(const rkernel::Problem& problem) {
  const rkernel::Attention& attention = *problem.attention;
  const auto varies = [&](int operand, int axis) {
    return problem.operands[static_cast<std::size_t>(operand)]
               .strides[static_cast<std::size_t>(axis)]
               .constant() != 0;
  };
  for (int axis = attention.m - 1; axis >= 0; --axis) {
    if (graph::bounds(problem.axes[static_cast<std::size_t>(axis)].extent).high > 1 &&
        !varies(attention.k, axis) && !varies(attention.v, axis))
      return axis;
  }
  return -1;
}

HeadSlots add_head_slots(codegen::SlotTable& slots, int heads) {
  if (heads < 0) return {};
  HeadSlots made;
  for (int* slot : {&made.multiplier, &made.shift}) *slot = slots.add_strategy_slot();
  return made;
}

void set_head_slots(const HeadSlots& slots, std::int64_t heads, std::vector<std::int64_t>& ints) {
  if (slots.multiplier == codegen::SlotTable::none) return;
  const Divider divider = divider_of(heads, 32);
  ints[static_cast<std::size_t>(slots.multiplier)] = static_cast<std::int64_t>(divider.multiplier);
  ints[static_cast<std::size_t>(slots.shift)] = divider.shift;
}

llvm::Value* QueryRows::extent() const {
  llvm::Value* queries = values_.extent(queries_);
  return has_heads() ? builder_.CreateMul(queries, values_.extent(heads_)) : queries;
}

void QueryRows::enter(llvm::Value* first) {
  first_query_ = first;
  if (!has_heads()) return;
  llvm::Value* heads = values_.extent(heads_);
  first_query_ = builder_.CreateUDiv(first, heads);
  first_head_ = builder_.CreateTrunc(
      builder_.CreateSub(first, builder_.CreateMul(first_query_, heads)), builder_.getInt32Ty());
}

// Below the number of heads and the rows of a tile together: 32 bits.
QueryRows::Index QueryRows::at(llvm::Value* row) const {
  const auto wide = [&](llvm::Value* value) {
    return builder_.CreateZExt(value, builder_.getInt64Ty());
  };
  if (!has_heads()) return {builder_.CreateAdd(first_query_, wide(row)), nullptr};
  llvm::Value* from_query = builder_.CreateAdd(first_head_, row);
  llvm::Value* later = divided(builder_, from_query, values_.loaded(division_.multiplier),
                               values_.loaded(division_.shift));
  llvm::Value* heads = values_.loaded(slots_.extent(heads_));
  llvm::Value* head = builder_.CreateSub(from_query, builder_.CreateMul(later, heads));
  return {builder_.CreateAdd(first_query_, wide(later)), wide(head)};
}

llvm::Value* QueryRows::distance(int operand, const Index& index) const {
  llvm::Value* elements = builder_.CreateMul(index.query, values_.stride(operand, queries_));
  if (!has_heads()) return elements;
  return builder_.CreateAdd(elements,
                            builder_.CreateMul(index.head, values_.stride(operand, heads_)));
}

}  // namespace dyn::ptx
