// The problem of a recurrent layer's steps.

#include "graph/ops/recurrence.hpp"
#include "src/rkernel/problem/group_lowering.hpp"

namespace dyn::rkernel {

using graph::Dim;
using graph::Node;

namespace {

Cell cell_of(const Node& node) {
  Cell cell;
  cell.f = graph::activation_of(node, "f");
  cell.clip = graph::attr_number(node, "clip");
  switch (node.op->id) {
    case graph::OpId::Lstm:
      cell.kind = CellKind::Lstm;
      cell.g = graph::activation_of(node, "g");
      cell.h = graph::activation_of(node, "h");
      cell.input_forget = graph::attr_boolean(node, "input_forget");
      break;
    case graph::OpId::Gru:
      cell.kind = CellKind::Gru;
      cell.g = graph::activation_of(node, "g");
      cell.linear_before_reset = graph::attr_boolean(node, "linear_before_reset");
      break;
    default: cell.kind = CellKind::Rnn;
  }
  return cell;
}

}  // namespace

/// All axes are kept, whatever their sizes, in the order in which Recurrence numbers them.
void GroupLowering::make_recurrence() {
  const Node& node = module_.nodes[static_cast<std::size_t>(group_.backbone_node)];
  Recurrence made;
  made.cell = cell_of(node);
  made.reversed = graph::attr_word(node, "direction") == "reverse";
  const auto &gates = dims_of(node.inputs[graph::recurrence_gates]),
             &r = dims_of(node.inputs[graph::recurrence_r]);
  const Dim gate_count = module_.dims->constant(gates_of(made.cell.kind));
  problem_.axes = {{"", r[0], AxisKind::Parallel},       {"", gates[1], AxisKind::Parallel},
                   {"", gate_count, AxisKind::Parallel}, {"", r[1], AxisKind::Parallel},
                   {"", gates[0], AxisKind::Reduction},  {"", r[1], AxisKind::Reduction}};
  problem_.lane_axis = made.n;
  axis_of_ = {made.d, made.b, made.g, made.n, made.t, made.k};
  const auto axis = [&](int i) { return graph::axis_coord(*module_.dims, i); };
  const auto add = [&](graph::ValueId id, const Coords& coords, bool written) {
    problem_.operands.push_back(operand_at(id, coords));
    problem_.operands.back().written = written;
    return static_cast<int>(problem_.operands.size()) - 1;
  };
  const auto read = [&](std::size_t input, const Coords& coords) {
    const bool is_read = input < node.inputs.size() && !graph::is_plain_input(module_, node, input);
    return is_read ? add(node.inputs[input], coords, false) : -1;
  };
  // The columns of all gates are one axis of their tensors.
  const graph::Coord column = axis(made.n) + axis(made.g) * r[1];
  made.gates =
      add(node.inputs[graph::recurrence_gates],
          {axis(made.t), axis(made.b), column + axis(made.d) * (r[1] * gate_count)}, false);
  made.r = add(node.inputs[graph::recurrence_r], {axis(made.d), axis(made.k), column}, false);
  made.bias = read(graph::recurrence_bias, {axis(made.d), column});
  made.lengths = read(graph::recurrence_lengths, {axis(made.b)});
  const Coords state{axis(made.d), axis(made.b), axis(made.n)};
  made.h = read(graph::recurrence_h, state);
  if (made.cell.kind == CellKind::Lstm) {
    made.c = read(graph::recurrence_c, state);
    made.peepholes = read(graph::recurrence_peepholes, {axis(made.d), column});
  }
  if (const auto scales = graph::scales_input(node))
    made.scales = add(node.inputs[*scales], {axis(made.d), column}, false);
  Coords steps = state;
  steps.insert(steps.begin(), axis(made.t));
  made.y = add(node.outputs[0], steps, true);
  made.last_h = add(node.outputs[1], state, true);
  if (made.cell.kind == CellKind::Lstm) made.last_c = add(node.outputs[2], state, true);
  problem_.recurrence = made;
}

}  // namespace dyn::rkernel
