#include "graph/ops/infer.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dyn::graph {

std::string input_name(const InferContext& context, std::size_t index) {
  const Value& value = context.module().value(context.node().inputs[index]);
  return value.kind == ValueKind::Constant || value.name.empty() ? fmt::format("input {}", index)
                                                                 : value.name;
}

std::string dim_name(const InferContext& context, std::size_t index, int axis) {
  return fmt::format("{} (dim {})", input_name(context, index), axis);
}

void require_dtype(const InferContext& context, std::size_t index,
                   std::span<const DType> accepted) {
  const DType dtype = context.input(index).dtype;
  if (std::ranges::find(accepted, dtype) != accepted.end()) return;
  std::vector<std::string_view> names;
  for (DType each : accepted) names.push_back(name_of(each));
  context.fail(fmt::format("{} does not take {}: {} must be {}", context.node().op->name,
                           name_of(dtype), input_name(context, index), fmt::join(names, " or ")));
}

void require_same_dtype(const InferContext& context, std::size_t first) {
  for (std::size_t i = first + 1; i < context.input_count(); ++i) {
    if (context.input(i).dtype == context.input(first).dtype) continue;
    context.fail(fmt::format("{} needs one dtype, but {} is {} and {} is {}; use cast",
                             context.node().op->name, input_name(context, first),
                             name_of(context.input(first).dtype), input_name(context, i),
                             name_of(context.input(i).dtype)));
  }
}

AttrDef zero_attr() {
  return {std::string(zero_name), AttrKind::Integer, "0",
          "what counts as 0 on the left; other than 0 only where integers are multiplied by f32"};
}

bool is_integer_by_float(DType left, DType right) {
  return (left == DType::u8 || left == DType::i16) && right == DType::f32;
}

DType product_dtype(const InferContext& context, std::span<const DType> accepted) {
  const DType left = context.input(0).dtype;
  if ((left == DType::u8 || left == DType::i16) && context.input(1).dtype == DType::i8)
    return DType::i32;
  const DType right = context.input(1).dtype;
  if (left == DType::bf16 && right == DType::f32) return DType::f32;
  const bool has_zero = context.node().op->find_attr(zero_name) != nullptr;
  if (has_zero && is_integer_by_float(left, right)) return DType::f32;
  if (has_zero && context.integer(zero_name) != 0)
    context.fail(fmt::format("{}: zero must be 0 where {} is {} and {} is {}",
                             context.node().op->name, input_name(context, 0), name_of(left),
                             input_name(context, 1), name_of(right)));
  require_dtype(context, 0, accepted);
  require_same_dtype(context);
  return left;
}

void require_rank(const InferContext& context, std::size_t index, int rank) {
  if (context.input(index).rank() == rank) return;
  context.fail(fmt::format("{} needs {} to have {} dims, but it is {}", context.node().op->name,
                           input_name(context, index), rank, to_string(context.input(index))));
}

void require_min_rank(const InferContext& context, std::size_t index, int rank) {
  if (context.input(index).rank() >= rank) return;
  context.fail(fmt::format("{} needs {} to have {} dims or more, but it is {}",
                           context.node().op->name, input_name(context, index), rank,
                           to_string(context.input(index))));
}

namespace {

int checked_axis(const InferContext& context, std::string_view name, std::int64_t axis, int rank) {
  const std::optional<int> normal = normalize_axis(axis, rank);
  if (!normal)
    context.fail(fmt::format("{} {} is outside of a tensor of rank {}", name, axis, rank));
  return *normal;
}

}  // namespace

int axis_attr(const InferContext& context, std::string_view name, int rank) {
  return checked_axis(context, name, context.integer(name), rank);
}

std::vector<int> axes_attr(const InferContext& context, std::string_view name, int rank) {
  std::vector<int> axes;
  for (std::int64_t axis : context.integers(name)) {
    const int normal = checked_axis(context, name, axis, rank);
    if (std::ranges::find(axes, normal) != axes.end())
      context.fail(fmt::format("{} names axis {} twice", name, normal));
    axes.push_back(normal);
  }
  return axes;
}

std::vector<Dim> broadcast_inputs(InferContext& context, std::size_t first) {
  int rank = 0;
  for (std::size_t i = first; i < context.input_count(); ++i)
    rank = std::max(rank, context.input(i).rank());
  std::vector<Dim> result(static_cast<std::size_t>(rank), context.dims().constant(1));
  std::vector<std::string> whose(result.size(), "1");
  for (std::size_t i = first; i < context.input_count(); ++i) {
    const TensorType type = context.input(i);
    const std::size_t skip = result.size() - type.dims.size();
    for (std::size_t d = 0; d < type.dims.size(); ++d) {
      const std::string name = dim_name(context, i, static_cast<int>(d));
      result[skip + d] = context.broadcast(result[skip + d], type.dims[d], whose[skip + d], name);
      if (type.dims[d].constant() != 1) whose[skip + d] = name;
    }
  }
  return result;
}

void require_vector_along(InferContext& context, std::size_t index, std::size_t of, int axis) {
  require_rank(context, index, 1);
  const Dim dim = context.input(of).dims[static_cast<std::size_t>(axis)];
  context.require_equal(context.input(index).dims[0], dim, dim_name(context, index, 0),
                        dim_name(context, of, axis));
}

Dim define_symbol(InferContext& context, std::string_view name, Dim dim) {
  const std::optional<int> symbol = dim.symbol();
  if (!symbol)
    context.fail(
        fmt::format("{}: {} must be a dim of its own, which this operator gives its value, not {}",
                    context.node().op->name, name, to_string(dim)));
  for (const ValueId input : context.module().inputs) {
    for (const Dim given : context.module().value(input).type.dims) {
      if (given == dim)
        context.fail(fmt::format(
            "{}: {} is {}, which is a dim of the input {}; it must be one that this operator gives "
            "its value",
            context.node().op->name, name, to_string(dim), context.module().value(input).name));
    }
  }
  context.dims().define(*symbol);
  return dim;
}

void require_at_least(InferContext& context, Dim dim, std::int64_t low, const std::string& what) {
  context.require_less_equal(context.dims().constant(low), dim, std::to_string(low), what);
}

Dim product(DimTable& table, std::span<const Dim> dims) {
  Dim result = table.constant(1);
  for (Dim dim : dims) result = result * dim;
  return result;
}

}  // namespace dyn::graph
