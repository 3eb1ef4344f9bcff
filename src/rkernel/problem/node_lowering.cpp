// The expression of one node's element.

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/fusion/reduced_place.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/ops/sliding_window.hpp"
#include "src/rkernel/problem/group_lowering.hpp"

namespace dyn::rkernel {

using graph::Coord;
using graph::Dim;
using graph::Node;
using graph::normalize_axis;
using graph::OpClass;
using graph::ValueId;

namespace {

ExprOp operator_of(const Node& node) {
  if (node.op->scalar != nullptr) return expr_op(node.op->scalar->op);
  switch (node.op->id) {
    case graph::OpId::Cast: return ExprOp::Cast;
    case graph::OpId::BitCast: return ExprOp::BitCast;
    case graph::OpId::Where: return ExprOp::Select;
    case graph::OpId::ReduceSum:
    case graph::OpId::ReduceMean: return ExprOp::ReduceSum;
    case graph::OpId::ReduceMax: return ExprOp::ReduceMax;
    case graph::OpId::ReduceMin: return ExprOp::ReduceMin;
    case graph::OpId::ReduceProd: return ExprOp::ReduceProd;
    default: throw Error(ErrorKind::internal, "lower: no scalar operator for " + node.op->name);
  }
}

}  // namespace

int GroupLowering::compute(const Node& node, const Coords& coords, const Guards& guards) {
  switch (node.op->op_class) {
    case OpClass::Elementwise: return elementwise(node, coords, guards);
    case OpClass::Reduction: return reduction(node);
    case OpClass::Contraction:
    case OpClass::Attention: {
      const std::vector<int> all = products();
      const auto place =
          std::ranges::find(all, module_.value(node.outputs[0]).producer) - all.begin();
      return rounded(build_.add({.op = ExprOp::Accumulator,
                                 .dtype = value_dtype(node.outputs[0]),
                                 .integer = place,
                                 .dim = {}}),
                     node.outputs[0]);
    }
    default: break;
  }
  if (node.op->id == graph::OpId::Gather) return gather(node, coords, guards);
  if (node.op->id == graph::OpId::Concat) return concat(node, coords, guards);
  if (node.op->id == graph::OpId::Pad) return pad(node, coords, guards);
  if (node.op->id == graph::OpId::Windows) return windows(node, coords, guards);
  if (node.op->id == graph::OpId::Range) return range(node, coords);
  throw Error(ErrorKind::internal,
              fmt::format("{}: {} cannot be lowered", group_.name, node.op->name));
}

int GroupLowering::elementwise(const Node& node, const Coords& coords, const Guards& guards) {
  int args[3] = {-1, -1, -1};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    args[i] =
        value(node.inputs[i],
              broadcast_coords(dims_of(node.inputs[i]), dims_of(node.outputs[0]), coords), guards);
  }
  const ExprOp op = operator_of(node);
  const int result = build_.apply(op, value_dtype(node.outputs[0]), args[0], args[1], args[2]);
  return is_exact(op) ? result : rounded(result, node.outputs[0]);
}

int GroupLowering::rounded(int expr, ValueId id) {
  const DType dtype = dtype_of(id);
  return graph::is_half(dtype)
             ? build_.apply(dtype == DType::f16 ? ExprOp::RoundF16 : ExprOp::RoundBf16, DType::f32,
                            expr)
             : expr;
}

/// The reduced value of the row that the parallel axes choose.
int GroupLowering::reduction(const Node& node) {
  const DType dtype = value_dtype(node.outputs[0]);
  const int rank = static_cast<int>(group_.extents.size());
  const graph::ValueId read =
      graph::reduced_place(module_, group_.extents, group_.reduced, node).value().read;
  const int element = value(read, graph::identity_coords(*module_.dims, rank), {});
  // Axes of one element are left out; where no other axis is reduced, the element is the result.
  if (std::ranges::none_of(problem_.axes,
                           [](const Axis& axis) { return axis.kind == AxisKind::Reduction; }))
    return element;
  const int sum = build_.apply(operator_of(node), dtype, element);
  if (node.op->id != graph::OpId::ReduceMean)
    return is_exact(operator_of(node)) ? sum : rounded(sum, node.outputs[0]);
  Dim count = module_.dims->constant(1);
  for (std::size_t i = 0; i < group_.extents.size(); ++i) {
    if (group_.reduced[i]) count = count * group_.extents[i];
  }
  const int divisor = build_.apply(ExprOp::Cast, dtype, build_.loaded_dim(count));
  return rounded(build_.apply(ExprOp::Div, dtype, sum, divisor), node.outputs[0]);
}

int GroupLowering::coord_value(const Coord& coord) {
  int sum = -1;
  const auto add = [&](int term) {
    sum = sum < 0 ? term : build_.apply(ExprOp::Add, DType::i64, sum, term);
  };
  for (const auto& term : coord.terms) {
    const int axis = axis_of_[static_cast<std::size_t>(term.axis)];
    if (axis < 0) continue;
    const int index = build_.index(axis);
    add(term.factor.constant() == 1
            ? index
            : build_.apply(ExprOp::Mul, DType::i64, index, build_.dim(term.factor)));
  }
  if (sum < 0 || coord.offset.constant() != 0) add(build_.loaded_dim(coord.offset));
  return sum;
}

GroupLowering::Guards GroupLowering::with_guard(const Guards& guards, const Coord& coord,
                                                Dim extent) const {
  Guards more = guards;
  Guard guard{{}, coord.offset * -1, extent - coord.offset};
  for (const auto& term : coord.terms)
    guard.terms.push_back({axis_of_[static_cast<std::size_t>(term.axis)], term.factor});
  std::ranges::sort(guard.terms, {}, &graph::CoordTerm::axis);
  more.push_back(std::move(guard));
  return more;
}

int GroupLowering::gather(const Node& node, const Coords& coords, const Guards& guards) {
  const ValueId data = node.inputs[0], indices = node.inputs[1];
  const int axis = *normalize_axis(attr_integer(node, "axis"), module_.value(data).type.rank());
  const auto first = coords.begin() + axis, last = first + module_.value(indices).type.rank();
  const int gathered = value(indices, Coords(first, last), guards);
  Coords data_coords(coords.begin(), first);
  data_coords.push_back(graph::fixed_coord(module_.dims->constant(0)));
  data_coords.insert(data_coords.end(), last, coords.end());

  Operand operand = operand_at(data, data_coords);
  operand.guards = guards;
  operand.gathers = true;
  operand.gather_extent = dims_of(data)[static_cast<std::size_t>(axis)];
  operand.gather_stride =
      fusion_.views[static_cast<std::size_t>(data)].strides[static_cast<std::size_t>(axis)];
  const int wide =
      dtype_of(indices) == DType::i64 ? gathered : build_.apply(ExprOp::Cast, DType::i64, gathered);
  return build_.load(value_dtype(data), find_operand(std::move(operand)), wide);
}

/// The parts are chosen from the last to the first by where each ends.
int GroupLowering::concat(const Node& node, const Coords& coords, const Guards& guards) {
  const auto axis = static_cast<std::size_t>(
      *normalize_axis(attr_integer(node, "axis"), static_cast<int>(coords.size())));
  const DType dtype = value_dtype(node.outputs[0]);
  std::vector<int> parts;
  std::vector<Dim> ends;
  Dim start = module_.dims->constant(0);
  for (const ValueId part : node.inputs) {
    const Dim extent = dims_of(part)[axis];
    Coords inside = coords;
    inside[axis] = coords[axis] + start * -1;
    parts.push_back(value(part, inside, with_guard(guards, inside[axis], extent)));
    ends.push_back(start = start + extent);
  }
  int result = parts.back();
  const int place = coord_value(coords[axis]);
  for (std::size_t i = parts.size() - 1; i-- > 0;) {
    const int before_end =
        build_.apply(ExprOp::Less, DType::boolean, place, build_.loaded_dim(ends[i]));
    result = build_.apply(ExprOp::Select, dtype, before_end, parts[i], result);
  }
  return result;
}

int GroupLowering::constant_like(DType dtype, double value) {
  return is_float(dtype) ? build_.number(dtype, value)
                         : build_.integer(dtype, graph::saturated(dtype, value));
}

int GroupLowering::pad(const Node& node, const Coords& coords, const Guards& guards) {
  const auto before = attr_dims(module_, node, "before"), after = attr_dims(module_, node, "after");
  const ValueId input = node.inputs[0];
  const DType dtype = value_dtype(input);
  const double fill = rounded_as_held(input, attr_number(node, "value"));
  Coords inside = coords;
  Guards inner_guards = guards;
  int exists = -1;
  const bool loaded = !in_group(root_of(input));
  for (std::size_t i = 0; i < coords.size(); ++i) {
    if (before[i].constant() == 0 && after[i].constant() == 0) continue;
    const Dim extent = dims_of(input)[i];
    inside[i] = coords[i] + before[i] * -1;
    inner_guards = with_guard(inner_guards, inside[i], extent);
    if (loaded) continue;
    const int place = coord_value(coords[i]);
    for (const int side :
         {build_.apply(ExprOp::GreaterEqual, DType::boolean, place, build_.loaded_dim(before[i])),
          build_.apply(ExprOp::Less, DType::boolean, place,
                       build_.loaded_dim(before[i] + extent))}) {
      exists = exists < 0 ? side : build_.apply(ExprOp::And, DType::boolean, exists, side);
    }
  }
  if (loaded) return load(input, inside, inner_guards, fill);
  const int inner = value(input, inside, inner_guards);
  return exists < 0
             ? inner
             : build_.apply(ExprOp::Select, dtype, exists, inner, constant_like(dtype, fill));
}

int GroupLowering::windows(const Node& node, const Coords& coords, const Guards& guards) {
  const ValueId input = node.inputs[0];
  const auto place = graph::coords_through_windows(module_, node, coords);
  if (!place)
    throw Error(ErrorKind::internal,
                fmt::format("{}: windows in another order than they slide", group_.name));
  Guards inside = guards;
  const std::vector<int> axes = graph::window_axes(module_, node);
  const std::vector<graph::SlidingWindow> windows = graph::windows_of(module_, node);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (windows[i].is_padded()) inside = with_guard(inside, (*place)[axis], dims_of(input)[axis]);
  }
  return load(input, *place, inside, attr_number(node, "value"), node.origin == "conv");
}

int GroupLowering::range(const Node& node, const Coords& coords) {
  const Coord element = coords[0] * module_.dims->constant(attr_integer(node, "step")) +
                        attr_dim(module_, node, "start");
  const DType dtype = value_dtype(node.outputs[0]);
  const int exact = coord_value(element);
  return dtype == DType::i64 ? exact
                             : rounded(build_.apply(ExprOp::Cast, dtype, exact), node.outputs[0]);
}

}  // namespace dyn::rkernel
