#include "targets/ptx/contraction/vector_outputs.hpp"

#include <algorithm>

#include "targets/ptx/copies/factor_sources.hpp"

namespace dyn::ptx {
namespace {

using codegen::StrideClass;
using rkernel::Operand;

/// Math of tables loads for each lane.
bool reads_tables(const rkernel::Expr& expr) {
  using rkernel::ExprOp;
  return expr.op == ExprOp::Sin || expr.op == ExprOp::Cos || expr.op == ExprOp::Tan;
}

bool is_plain(const Operand& operand) {
  return operand.guards.empty() && !operand.gathers && !operand.window &&
         operand.form == rkernel::Form::Strided;
}

/// Where only some columns go to the operand, whole vectors do.
bool has_whole_columns(const Operand& operand, int n) {
  return std::ranges::all_of(operand.guards, [&](const rkernel::Guard& guard) {
    return guard.range_axis() == n && graph::prove_multiple(guard.low, output_lanes) == true &&
           graph::prove_multiple(guard.high, output_lanes) == true;
  });
}

Operand without_guards(Operand operand) {
  operand.guards.clear();
  return operand;
}

/// Calls `visit` for the operands that an epilogue touches, until it gives false.
template <class Visit>
bool all_of_epilogue(const rkernel::Problem& problem, Visit visit) {
  const std::vector<bool> touched = epilogue_operands(problem);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (touched[i] && !visit(i)) return false;
  }
  return true;
}

bool may_be_vectors(const rkernel::Problem& problem, std::span<const StrideClass> lanes) {
  if (problem.lane_axis != problem.contraction->n ||
      std::ranges::any_of(problem.exprs, reads_tables))
    return false;
  const auto is_output = [&](std::size_t operand) {
    return std::ranges::any_of(problem.stores, [&](const rkernel::Store& store) {
      return static_cast<std::size_t>(store.operand) == operand;
    });
  };
  return all_of_epilogue(problem, [&](std::size_t i) {
    const Operand& operand = problem.operands[i];
    const bool plain = is_output(i) && has_whole_columns(operand, problem.contraction->n)
                           ? is_plain(without_guards(operand))
                           : is_plain(operand);
    return plain &&
           (lanes[i] == StrideClass::Unit || (lanes[i] == StrideClass::Zero && !is_output(i)));
  });
}

bool is_whole(graph::Dim dim) {
  return !dim.valid() || graph::prove_multiple(dim, output_lanes) == true;
}

}  // namespace

std::string_view name_of(VectorOutputs outputs) {
  switch (outputs) {
    case VectorOutputs::Never: return "elements";
    case VectorOutputs::Sometimes: return "either";
    case VectorOutputs::Always: return "vectors";
  }
  return "";
}

VectorOutputs vector_outputs(const rkernel::Problem& problem, std::span<const StrideClass> lanes) {
  if (!may_be_vectors(problem, lanes)) return VectorOutputs::Never;
  const int n = problem.contraction->n;
  const bool always =
      is_whole(problem.axes[static_cast<std::size_t>(n)].extent) &&
      all_of_epilogue(problem, [&](std::size_t i) {
        const Operand& operand = problem.operands[i];
        if (lanes[i] != StrideClass::Unit) return true;
        for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
          if (axis != n && !is_whole(operand.strides[static_cast<std::size_t>(axis)])) return false;
        }
        return is_whole(operand.offset);
      });
  return always ? VectorOutputs::Always : VectorOutputs::Sometimes;
}

bool vector_outputs_now(const rkernel::Problem& problem, std::span<const StrideClass> lanes,
                        const codegen::SlotTable& slots, std::span<const std::int64_t> ints) {
  const int n = problem.contraction->n;
  const auto whole = [&](int slot) { return codegen::value_of(slot, ints) % output_lanes == 0; };
  return whole(slots.extent(n)) && all_of_epilogue(problem, [&](std::size_t i) {
           if (lanes[i] != StrideClass::Unit) return true;
           const int operand = static_cast<int>(i);
           for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
             if (axis != n && !whole(slots.stride(operand, axis))) return false;
           }
           return whole(slots.offset(operand));
         });
}

}  // namespace dyn::ptx
