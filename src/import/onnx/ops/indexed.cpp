// Elements from computed places.

#include <algorithm>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/folded.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

bool give_known_concat(NodeContext& node) {
  KnownInts joined;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const std::optional<KnownInts> part = node.ints(i);
    if (!part || part->scalar) return false;
    joined.dtype = part->dtype;
    joined.elements.insert(joined.elements.end(), part->elements.begin(), part->elements.end());
    if (joined.elements.size() > most_known_ints) return false;
  }
  node.give(std::move(joined));
  return true;
}

void convert_concat(NodeContext& node) {
  if (give_known_concat(node)) return;
  constexpr int needs_axis = 4;
  const int axis =
      node.axis(node.integer("axis", node.opset() < needs_axis ? 1 : 0), node.type_of(0).rank());
  if (give_folded_concat(node, axis)) return;
  Operand joined{node.add("concat", node.values(), {node.dim("axis", axis)}), nullptr, std::nullopt,
                 node.node().output(0)};
  const graph::TensorType& type = node.builder().type(joined.id);
  // Where some sizes of a list are computed, the others may be known, such as a batch and channels
  // that a resize keeps.
  for (std::size_t i = 0; type.rank() == 1 && !is_float(type.dtype) && i < node.inputs(); ++i)
    joined.parts.push_back(node.operand(i));
  node.give(std::move(joined));
}

/// Sizes that constant indices choose.
bool give_known_gather(NodeContext& node) {
  const std::optional<KnownInts> data = node.ints(0), indices = node.ints(1);
  if (!data || data->scalar || !indices) return false;
  const auto count = static_cast<std::int64_t>(data->elements.size());
  KnownInts chosen{data->dtype, indices->scalar, {}};
  for (const Dim each : indices->elements) {
    std::optional<std::int64_t> index = each.constant();
    if (!index) return false;
    if (*index < -count || *index >= count)
      node.fail(fmt::format("index {} is outside of {} elements", *index, count));
    chosen.elements.push_back(
        data->elements[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]);
  }
  node.give(std::move(chosen));
  return true;
}

/// A large table whose numbers are constant integers, all times one scale, stays those integers;
/// what is gathered becomes numbers.
bool give_gathered_integers(NodeContext& node, int axis) {
  constexpr std::size_t least_bytes = std::size_t{1} << 16;
  const auto table = node.operand(0);
  if (!table->constant || table->integers == nullptr || table->constant.bytes() < least_bytes)
    return false;
  const OperandIntegers& from = *table->integers;
  const auto single = [](const Tensor* tensor) {
    return tensor != nullptr && tensor->elements() == 1;
  };
  const Tensor* const scale = constant_of(*from.scale);
  const Tensor* const zero = from.zero_point ? constant_of(*from.zero_point) : nullptr;
  if (!single(scale) || (from.zero_point && !single(zero)) ||
      size_of(node.type_of(*from.elements).dtype) != 1 ||
      is_code(node.type_of(*from.elements).dtype))
    return false;
  const TensorExpr integers{node, node.value_of(*from.elements)};
  TensorExpr whole = cast(gather(integers, input_expr(node, 1), axis), DType::i32);
  if (zero != nullptr && numbers_of(*zero).front() != 0) whole = whole - numbers_of(*zero).front();
  Operand numbers{(cast(whole, DType::f32) * numbers_of(*scale).front()).id(), nullptr,
                  std::nullopt};
  numbers.is_from_integers = true;
  node.give(std::move(numbers));
  return true;
}

void convert_gather(NodeContext& node) {
  if (give_known_gather(node)) return;
  const int axis = node.axis(node.integer("axis", 0), node.type_of(0).rank());
  if (give_gathered_integers(node, axis)) return;
  node.give(node.add("gather", {node.value(0), node.value(1)}, {node.dim("axis", axis)}));
}

/// Keeps the elements of the last two axes on one side of a diagonal; 0 elsewhere.
void convert_trilu(NodeContext& node) {
  const std::vector<Dim> dims = node.type(0).dims;
  if (dims.size() < 2) node.fail("its input must have at least 2 dims");
  const bool upper = node.integer("upper", 1) != 0;
  const Dim one = node.dims().constant(1);
  Dim diagonal = node.has(1) ? node.need_dim(1, "k") : node.dims().constant(0);
  constexpr std::int64_t outside = std::int64_t{1} << 40;  // of every matrix
  if (const std::optional<std::int64_t> k = diagonal.constant())
    diagonal = node.dims().constant(std::clamp(*k, -outside, outside));
  const Dim rows = dims[dims.size() - 2], columns = dims.back();
  const ValueId column = node.add("range", {}, {{"end", columns}});
  // Row i begins at i + k.
  const ValueId first = node.add("range", {}, {{"start", diagonal}, {"end", rows + diagonal}});
  const ValueId row =
      node.add("reshape", {first}, {node.dim_list("shape", std::vector{rows, one})});
  const ValueId kept = node.add(upper ? "greater_equal" : "less_equal", {column, row});
  const ValueId x = node.value(0);
  node.give(node.add("where", {kept, x, node.scalar(0, x)}));
}

}  // namespace

Family indexed_operators() {
  return {{"Concat", convert_concat}, {"Gather", convert_gather}, {"Trilu", convert_trilu}};
}

}  // namespace dyn::onnx
