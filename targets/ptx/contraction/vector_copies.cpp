#include "targets/ptx/contraction/vector_copies.hpp"

namespace dyn::ptx {
namespace {

constexpr std::int64_t vector_bytes = 16;

std::int64_t elements_of_vector(const rkernel::Operand& operand) {
  return vector_bytes / static_cast<std::int64_t>(size_of(operand.dtype));
}

}  // namespace

std::optional<bool> provably_vectors(const rkernel::Operand& operand, int inner, DType tile_dtype) {
  if (operand.dtype != tile_dtype) return false;
  std::optional<bool> all = true;
  const auto demand = [&](std::optional<bool> answer) {
    if (answer == false)
      all = false;
    else if (!answer && all == true)
      all = std::nullopt;
  };
  const auto aligned = [&](graph::Dim dim) {
    if (dim.valid()) demand(graph::prove_multiple(dim, elements_of_vector(operand)));
  };
  aligned(operand.offset);
  for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
    const graph::Dim stride = operand.strides[static_cast<std::size_t>(axis)];
    if (axis != inner)
      aligned(stride);
    else
      demand(stride.valid() ? graph::prove_equal(stride, stride.table().constant(1)) : false);
  }
  return all;
}

bool vectors_now(const rkernel::Problem& problem, int index, int inner, DType tile_dtype,
                 const codegen::SlotTable& slots, std::span<const std::int64_t> ints) {
  const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  if (operand.dtype != tile_dtype) return false;
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  const std::int64_t vector = elements_of_vector(operand);
  bool all = value(slots.offset(index)) % vector == 0;
  for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
    const std::int64_t stride = value(slots.stride(index, axis));
    all = all && (axis == inner ? stride == 1 : stride % vector == 0);
  }
  return all;
}

}  // namespace dyn::ptx
