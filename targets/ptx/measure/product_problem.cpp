#include "targets/ptx/measure/product_problem.hpp"

#include <utility>
#include <vector>

namespace dyn::ptx {

rkernel::Problem product_problem(DType dtype, graph::Dim m, graph::Dim n, graph::Dim k) {
  const graph::Dim zero = m.table().constant(0), one = m.table().constant(1);
  rkernel::Problem problem;
  problem.name = "matmul";
  problem.axes = {{"m", m}, {"n", n}, {"k", k, rkernel::AxisKind::Reduction}};
  problem.contraction = rkernel::Contraction{0, 1, 0, 1, 2};
  problem.lane_axis = 1;
  const auto add = [&](const char* name, std::vector<graph::Dim> strides) {
    rkernel::Operand operand;
    operand.name = name;
    operand.dtype = dtype;
    operand.buffer = static_cast<graph::ValueId>(problem.operands.size());
    operand.offset = zero;
    operand.strides = std::move(strides);
    problem.operands.push_back(std::move(operand));
  };
  add("a", {k, zero, one});
  add("b", {zero, one, n});
  add("c", {n, one, zero});
  problem.operands.back().written = true;
  rkernel::Expr sum;
  sum.op = rkernel::ExprOp::Accumulator;
  sum.dtype = DType::f32;
  problem.exprs.push_back(sum);
  problem.stores.push_back({0, 2});
  return problem;
}

}  // namespace dyn::ptx
