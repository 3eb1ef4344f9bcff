#include "src/import/onnx/sequences.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "src/import/onnx/converter.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/unrolling.hpp"

namespace dyn::onnx {
namespace {

/// Parts that a tensor is split into.
constexpr std::int64_t most_parts = 4096;

/// The place that input 1 or 2 gives, counted from the front; `count`: how many places there are.
std::size_t position(NodeContext& node, std::size_t input, std::size_t count) {
  const std::int64_t given = node.need_integer(input, "its position"),
                     places = static_cast<std::int64_t>(count),
                     place = given < 0 ? given + places : given;
  if (place < 0 || place >= places)
    node.fail(fmt::format("position {} is outside of a sequence with {} places", given, places));
  return static_cast<std::size_t>(place);
}

void convert_construct(NodeContext& node) {
  OperandList tensors;
  for (std::size_t i = 0; i < node.inputs(); ++i) tensors.push_back(node.operand(i));
  node.give(std::move(tensors));
}

void convert_empty(NodeContext& node) { node.give(OperandList()); }

/// A negative position counts from the end, before which the tensor goes.
void convert_insert(NodeContext& node) {
  const std::shared_ptr<Operand> before = node.sequence_operand(0);
  OperandList tensors = node.has(2) ? node.sequence(0) : *before->sequence;
  const std::size_t end = tensors.size();
  std::size_t place = end;
  if (node.has(2)) {
    const std::int64_t given = node.need_integer(2, "its position");
    place = given == static_cast<std::int64_t>(end) ? end : position(node, 2, end);
  }
  tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(place), node.operand(1));
  Operand longer;
  longer.sequence = std::make_shared<const OperandList>(std::move(tensors));
  longer.front = before->front;
  node.give(std::move(longer));
}

void convert_erase(NodeContext& node) {
  OperandList tensors = node.sequence(0);
  if (tensors.empty()) node.fail("its sequence is empty");
  const std::size_t place = node.has(1) ? position(node, 1, tensors.size()) : tensors.size() - 1;
  tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(place));
  node.give(std::move(tensors));
}

/// The tensors that a loop has put at a sequence's beginning, with an axis before theirs; nothing
/// where none has.
std::optional<TensorExpr> stack_of(NodeContext& node) {
  const std::shared_ptr<Operand> sequence = node.sequence_operand(0);
  if (!sequence->front) return std::nullopt;
  if (sequence->front->is_nothing) node.sequence(0);  // fails: it is in the loop's body
  return TensorExpr{node, node.value_of(*sequence->front)};
}

void convert_at(NodeContext& node) {
  const std::optional<TensorExpr> stack = stack_of(node);
  const OperandList& tensors = *node.sequence_operand(0)->sequence;
  if (!stack) return node.give(tensors[position(node, 1, tensors.size())]);
  const std::int64_t given = node.need_integer(1, "its position"),
                     behind = static_cast<std::int64_t>(tensors.size());
  if (given < 0 && given >= -behind)
    return node.give(tensors[static_cast<std::size_t>(behind + given)]);
  const Dim count = stack->dims()[0],
            at = given < 0 ? count + (behind + given) : node.dims().constant(given);
  Dims dims = stack->dims();
  dims.erase(dims.begin());
  node.give(reshape(slice(*stack, 0, at, at + 1), dims).id());
}

void convert_length(NodeContext& node) {
  const std::optional<TensorExpr> stack = stack_of(node);
  const auto length = static_cast<std::int64_t>(node.sequence_operand(0)->sequence->size());
  const Dim known = node.dims().constant(length);
  node.give(KnownInts{DType::i64, true, {stack ? stack->dims()[0] + known : known}});
}

/// A stack whose first axis goes before `axis` of the slices, or becomes one with it.
TensorExpr joined_stack(NodeContext& node, const TensorExpr& stack, bool is_new) {
  const int axis = node.axis(node.integer("axis", 0), stack.rank() - (is_new ? 0 : 1));
  std::vector<std::int64_t> perm(static_cast<std::size_t>(stack.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + axis + 1);
  const TensorExpr moved{node,
                         node.add("transpose", {stack.id()}, {node.integer_list("perm", perm)})};
  if (is_new) return moved;
  Dims dims = moved.dims();
  const auto at = static_cast<std::size_t>(axis);
  dims[at] = dims[at] * dims[at + 1];
  dims.erase(dims.begin() + axis + 1);
  return reshape(moved, dims);
}

void convert_joined(NodeContext& node) {
  if (node.attribute("axis") == nullptr) node.fail("it needs the attribute axis");
  const bool is_new = node.integer("new_axis", 0) != 0;
  std::vector<TensorExpr> parts;
  if (const std::optional<TensorExpr> stack = stack_of(node))
    parts.push_back(joined_stack(node, *stack, is_new));
  for (const auto& tensor : *node.sequence_operand(0)->sequence) {
    const TensorExpr part{node, node.value_of(*tensor)};
    parts.push_back(is_new ? unsqueeze(part, node.axis(node.integer("axis", 0), part.rank() + 1))
                           : part);
  }
  if (parts.empty()) node.fail("its sequence is empty");
  const int axis = node.axis(node.integer("axis", 0), parts.front().rank());
  node.give(parts.size() == 1 ? parts.front().id() : concat(parts, axis).id());
}

/// Equal parts but for the last, which may be smaller.
std::vector<Dim> equal_parts(NodeContext& node, Dim extent, std::int64_t size) {
  const std::optional<std::int64_t> length = extent.constant();
  if (!length)
    node.fail_unsupported(
        fmt::format("the number of its parts depends on {}; the sizes of the parts as a list, or a "
                    "length that is known, are needed",
                    graph::to_string(extent)));
  if (size < 1) node.fail(fmt::format("its parts have {} slices", size));
  if (*length / size > most_parts)
    node.fail_unsupported(fmt::format("more than {} parts are not supported", most_parts));
  std::vector<Dim> sizes;
  for (std::int64_t begin = 0; begin < *length; begin += size)
    sizes.push_back(node.dims().constant(std::min(size, *length - begin)));
  return sizes;
}

void convert_split_to_sequence(NodeContext& node) {
  const ValueId x = node.value(0);
  const std::vector<Dim> dims = node.type(0).dims;
  const int axis = node.axis(node.integer("axis", 0), static_cast<int>(dims.size()));
  const Dim extent = dims[static_cast<std::size_t>(axis)];
  const bool is_list = node.has(1) && node.type_of(1).rank() > 0;
  const std::vector<Dim> sizes =
      is_list ? node.need_dims(1, "split")
              : equal_parts(node, extent, node.has(1) ? node.need_integer(1, "split") : 1);
  if (sizes.empty()) return node.give(OperandList());
  const std::vector<ValueId> parts =
      node.builder().add("split", {x}, {node.dim("axis", axis), node.dim_list("sizes", sizes)},
                         std::vector<std::string>(sizes.size(), node.node().output(0)));
  const bool keeps = node.has(1) || node.integer("keepdims", 1) != 0;
  OperandList tensors;
  for (ValueId part : parts) {
    if (!keeps) {
      std::vector<Dim> shape = dims;
      shape.erase(shape.begin() + axis);
      part = node.add("reshape", {part}, {node.dim_list("shape", shape)});
    }
    tensors.push_back(std::make_shared<Operand>(Operand{part, nullptr, std::nullopt}));
  }
  node.give(std::move(tensors));
}

void convert_optional(NodeContext& node) {
  if (node.has(0)) return node.give(node.operand(0));
  Operand nothing;
  nothing.is_nothing = true;
  node.give(std::move(nothing));
}

/// What is no optional value has always one.
void convert_has_element(NodeContext& node) {
  const bool has = node.has(0) && !node.operand(0)->is_nothing;
  node.give(Tensor{DType::boolean, {}, std::string(1, has ? '\1' : '\0')});
}

void convert_get_element(NodeContext& node) {
  if (node.operand(0)->is_nothing) node.fail("its optional value is none");
  node.give(node.operand(0));
}

struct SequenceOperator {
  std::string_view name;
  Convert convert;
};
constexpr SequenceOperator sequence_operators[] = {{"ConcatFromSequence", convert_joined},
                                                   {"Optional", convert_optional},
                                                   {"OptionalGetElement", convert_get_element},
                                                   {"OptionalHasElement", convert_has_element},
                                                   {"SequenceAt", convert_at},
                                                   {"SequenceConstruct", convert_construct},
                                                   {"SequenceEmpty", convert_empty},
                                                   {"SequenceErase", convert_erase},
                                                   {"SequenceInsert", convert_insert},
                                                   {"SequenceLength", convert_length},
                                                   {"SplitToSequence", convert_split_to_sequence}};

}  // namespace

Convert find_sequence_conversion(const NodeProto& node) {
  if (!is_standard(node.domain())) return nullptr;
  const auto found = std::ranges::find(sequence_operators, node.op_type(), &SequenceOperator::name);
  return found == std::end(sequence_operators) ? nullptr : found->convert;
}

void Converter::convert_sequence_map(NodeContext& context) {
  const GraphProto& body = body_of(context);
  const std::size_t count = context.sequence(0).size();
  std::vector<OperandList> collected(context.outputs());
  const Operands own = constants_of(body);
  const Unrolling unrolling(state_);
  for (std::size_t step = 0; step < count; ++step) {
    count_step(context, body, state_);
    OperandList values;
    for (std::size_t i = 0; i < context.inputs(); ++i) {
      if (!context.operand(i)->sequence) {
        values.push_back(context.operand(i));
        continue;
      }
      const OperandList& tensors = context.sequence(i);
      if (tensors.size() != count)
        context.fail(fmt::format("its sequences have {} and {} tensors", count, tensors.size()));
      values.push_back(tensors[step]);
    }
    const OperandList results = convert_body(body, own, bound(context, body, values));
    if (results.size() < collected.size())
      context.fail(fmt::format("its body has {} outputs for {}", results.size(), collected.size()));
    for (std::size_t i = 0; i < collected.size(); ++i) collected[i].push_back(results[i]);
  }
  for (std::size_t i = 0; i < collected.size(); ++i) context.give(std::move(collected[i]), i);
}

}  // namespace dyn::onnx
