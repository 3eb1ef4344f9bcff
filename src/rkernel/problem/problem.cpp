#include "src/rkernel/problem/problem.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "src/rkernel/problem/parts.hpp"

namespace dyn::rkernel {
namespace {

std::string axis_name(const Problem& problem, int axis) {
  return problem.axes[static_cast<std::size_t>(axis)].name;
}

std::string axis_text(const Problem& problem, std::size_t i) {
  const Axis& axis = problem.axes[i];
  return fmt::format("  axis {} = {}{}{}\n", axis.name, to_string(axis.extent),
                     axis.kind == AxisKind::Reduction ? ", reduced" : "",
                     static_cast<int>(i) == problem.lane_axis ? ", lanes" : "");
}

/// "B * 64 + i * 768 + j", the operand's address.
std::string address_text(const Problem& problem, const Operand& operand) {
  std::vector<std::string> terms;
  if (operand.offset.constant() != 0) terms.push_back(to_string(operand.offset));
  for (std::size_t i = 0; i < operand.strides.size(); ++i) {
    const graph::Dim stride = operand.strides[i];
    if (stride.constant() == 0) continue;
    const std::string& axis = problem.axes[i].name;
    terms.push_back(stride.constant() == 1 ? axis
                                           : fmt::format("{} * ({})", axis, to_string(stride)));
  }
  if (operand.gather_panel > 1) {
    terms.push_back(fmt::format("gathered / {0} * ({1}) + gathered % {0}", operand.gather_panel,
                                to_string(operand.gather_stride)));
  } else if (operand.gathers) {
    terms.push_back(fmt::format("gathered * ({})", to_string(operand.gather_stride)));
  }
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

std::string window_text(const Problem& problem, const WindowRows& rows) {
  std::string text = ", windows";
  for (const WindowAxis& axis : rows.axes) {
    if (axis.size.constant() == 1 && axis.stride.constant() == 1 && axis.before.constant() == 0) {
      text += fmt::format(" {} of {} step {},", to_string(axis.count),
                          axis_name(problem, axis.axis), to_string(axis.step));
    } else {
      text += fmt::format(" {} of {} ({} * {} at {} - {} in {}) step {},", to_string(axis.count),
                          axis_name(problem, axis.axis), to_string(axis.size),
                          to_string(axis.dilation), to_string(axis.stride), to_string(axis.before),
                          to_string(axis.extent), to_string(axis.step));
    }
  }
  if (rows.outside != 0) text += fmt::format(" {} outside,", rows.outside);
  return text + fmt::format(" {} channels step {}", to_string(rows.channels),
                            to_string(rows.channel_step));
}

std::string guarded_text(const Problem& problem, const Guard& guard) {
  std::vector<std::string> terms;
  for (const graph::CoordTerm& term : guard.terms) {
    const std::string axis = axis_name(problem, term.axis);
    terms.push_back(term.factor.constant() == 1
                        ? axis
                        : fmt::format("{} * ({})", axis, to_string(term.factor)));
  }
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

std::string operand_text(const Problem& problem, std::size_t i) {
  const Operand& operand = problem.operands[i];
  if (problem.host)
    return fmt::format("  {} {} {}: {}\n", operand.written ? "out" : "in", i,
                       name_of(operand.dtype), operand.name);
  std::string text =
      fmt::format("  {} {} {}: {}[{}]", operand.written ? "out" : "in", i, name_of(operand.dtype),
                  operand.name, address_text(problem, operand));
  if (operand.form == Form::Packed) text += ", packed";
  if (operand.window) text += window_text(problem, *operand.window);
  if (operand.form == Form::Scales) text += ", scales";
  if (operand.gathers) text += fmt::format(", gathers below {}", to_string(operand.gather_extent));
  for (const Guard& guard : operand.guards) {
    text += fmt::format(", {} <= {} < {}", to_string(guard.low), guarded_text(problem, guard),
                        to_string(guard.high));
  }
  if (!operand.guards.empty() && !operand.written)
    text += fmt::format(" else {}{}", operand.fill, operand.absent_outside ? ", nothing" : "");
  return text + "\n";
}

std::string expr_text(const Problem& problem, std::size_t i) {
  const Expr& expr = problem.exprs[i];
  std::string text = fmt::format("  %{} = {}", i, name_of(expr.op));
  switch (expr.op) {
    case ExprOp::Constant:
      text +=
          is_float(expr.dtype) ? fmt::format(" {}", expr.number) : fmt::format(" {}", expr.integer);
      break;
    case ExprOp::DimValue: text += " " + to_string(expr.dim); break;
    case ExprOp::Index: text += " " + axis_name(problem, expr.axis); break;
    case ExprOp::Load: text += fmt::format(" {}", expr.operand); break;
    case ExprOp::Accumulator:
      if (expr.integer > 0) text += fmt::format(" {}", expr.integer);
      break;
    default: break;
  }
  for (const int arg : expr.args) {
    if (arg >= 0) text += fmt::format(" %{}", arg);
  }
  return fmt::format("{}: {}\n", text, name_of(expr.dtype));
}

std::string attention_text(const Problem& problem) {
  const Attention& attention = *problem.attention;
  const std::string keys = axis_name(problem, attention.keys), d = axis_name(problem, attention.d);
  const std::string scale =
      attention.scale == 0 ? "1 / sqrt(extent of " + d + ")" : fmt::format("{}", attention.scale);
  std::string scores =
      fmt::format("{} * sum over {} of {} * {}", scale, d, attention.q, attention.k);
  if (attention.k_scales >= 0) scores += fmt::format(" * {}", attention.k_scales);
  if (attention.mask >= 0) scores += fmt::format(" + {}", attention.mask);
  if (attention.causal)
    scores += fmt::format(", {} <= {} + their difference", keys, axis_name(problem, attention.m));
  const std::string scaled = attention.v_scales < 0 ? "" : fmt::format(" * {}", attention.v_scales);
  return fmt::format("  accumulator: sum over {} of softmax({}) * {}{}\n", keys, scores,
                     attention.v, scaled);
}

std::string recurrence_text(const Problem& problem) {
  const Recurrence& recurrence = *problem.recurrence;
  const bool scaled = recurrence.scales >= 0;
  return fmt::format("  {}: steps along {}{}, sum over {} of {}state * {}{}\n",
                     recurrence.cell.kind == CellKind::Lstm  ? "lstm"
                     : recurrence.cell.kind == CellKind::Gru ? "gru"
                                                             : "rnn",
                     axis_name(problem, recurrence.t), recurrence.reversed ? ", backwards" : "",
                     axis_name(problem, recurrence.k), scaled ? "quantised " : "", recurrence.r,
                     scaled ? fmt::format(" * {}", recurrence.scales) : "");
}

}  // namespace

bool is_run(const WindowRows& rows) {
  const WindowAxis& last = rows.axes.back();
  return rows.channel_step.constant() == 1 && last.dilation.constant() == 1 &&
         prove_equal(last.step, rows.channels) == true;
}

std::int64_t short_segment(const WindowRows& rows) {
  constexpr std::int64_t most =
      64;  // longer segments gain nothing, and each length is a class of code
  const std::int64_t elements =
      (is_run(rows) ? rows.axes.back().size * rows.channels : rows.channels).constant().value_or(0);
  return rows.channel_step.constant() == 1 && elements <= most ? elements : 0;
}

bool lie_in_strips(const WindowRows& rows, int m) {
  if (!is_run(rows) || rows.axes.size() < 2) return false;
  std::int64_t taps = 1;
  for (std::size_t i = 0; i < rows.axes.size(); ++i) {
    const WindowAxis& axis = rows.axes[i];
    const auto size = axis.size.constant(), stride = axis.stride.constant();
    if (axis.axis != m || !size || !stride || *stride > *size) return false;
    if (i + 2 < rows.axes.size() && *size != 1) return false;
    taps *= *size;
  }
  return taps > 1;
}

std::optional<int> Guard::range_axis() const {
  if (terms.size() != 1 || terms[0].factor.constant() != 1) return std::nullopt;
  return terms[0].axis;
}

Guard range_of(int axis, graph::Dim low, graph::Dim high) {
  return {{{axis, low.table().constant(1)}}, low, high};
}

bool Problem::has_reduction() const {
  return std::ranges::any_of(exprs, [](const Expr& expr) { return is_reduction(expr.op); });
}

std::vector<int> Contraction::right_sides() const {
  std::vector<int> all{b};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<int> batch_axes(const Problem& problem) {
  const Contraction& contraction = *problem.contraction;
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    if (axis != contraction.m && axis != contraction.n && axis != contraction.k)
      axes.push_back(axis);
  }
  return axes;
}

Group group_of(const Problem& problem) {
  if (problem.contraction) return problem.contraction->group;
  return problem.recurrence ? problem.recurrence->group : Group::None;
}

DType left_dtype(const Problem& problem) {
  const Contraction& contraction = problem.contraction.value();
  if (contraction.a_value >= 0) return DType::f32;
  return problem.operands[static_cast<std::size_t>(contraction.a)].dtype;
}

Factors factors_of(const Problem& problem) {
  const Group group = group_of(problem);
  if (problem.contraction && problem.contraction->b_value >= 0) return {};
  const int right = problem.recurrence ? problem.recurrence->r : problem.contraction.value().b;
  const Operand& weights = problem.operands[static_cast<std::size_t>(right)];
  if (weights.coding) return Factors(weights.coding, group);
  return group == Group::None ? Factors(weights.dtype) : Factors(group);
}

std::string to_string(const Problem& problem) {
  std::string text = fmt::format("problem {}\n", problem.name);
  for (std::size_t i = 0; i < problem.parts.size(); ++i) text += to_string(part_of(problem, i));
  if (!problem.parts.empty()) return text;
  if (problem.host) text += fmt::format("  {}, over whole tensors\n", problem.host->node.op->name);
  for (std::size_t i = 0; i < problem.axes.size(); ++i) text += axis_text(problem, i);
  for (std::size_t i = 0; i < problem.operands.size(); ++i) text += operand_text(problem, i);
  if (problem.contraction) {
    const Contraction& contraction = *problem.contraction;
    text += fmt::format("  accumulator: sum over {} of {} * {}{}\n",
                        axis_name(problem, contraction.k), contraction.a, contraction.b,
                        contraction.group == Group::None
                            ? ""
                            : " in groups of " + Factors(contraction.group).name());
    for (std::size_t i = 0; i < contraction.others.size(); ++i)
      text += fmt::format("  accumulator {}: sum over {} of {} * {}\n", i + 1,
                          axis_name(problem, contraction.k), contraction.a, contraction.others[i]);
    for (const auto& [factor, expr] : {std::pair{contraction.a, contraction.a_value},
                                       std::pair{contraction.b, contraction.b_value}}) {
      if (expr >= 0) text += fmt::format("    {} is computed: %{}\n", factor, expr);
    }
    if (contraction.is_ragged())
      text += fmt::format("    {} elements, the last group filled with 0\n",
                          to_string(contraction.depth));
    if (contraction.zero != 0)
      text += fmt::format("    {} counts from {}\n", contraction.a, contraction.zero);
  }
  if (problem.attention) text += attention_text(problem);
  if (problem.recurrence) text += recurrence_text(problem);
  for (std::size_t i = 0; i < problem.exprs.size(); ++i) text += expr_text(problem, i);
  for (const Store& store : problem.stores)
    text += fmt::format("  store {} %{}\n", store.operand, store.expr);
  return text;
}

}  // namespace dyn::rkernel
