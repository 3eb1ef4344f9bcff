#include "tests/gpu/matmul_problem.hpp"

#include <utility>
#include <vector>

namespace dyn::gpu_check {

MatmulProblem matmul_problem(DType dtype, std::int64_t n, std::int64_t k) {
  MatmulProblem made;
  made.dims = std::make_unique<graph::DimTable>();
  graph::DimTable& dims = *made.dims;
  const graph::Dim zero = dims.constant(0), one = dims.constant(1), columns = dims.constant(n),
                   depth = dims.constant(k);
  const graph::Dim rows =
      dims.symbol({.name = "M", .low = 0, .high = 1 << 24, .divisor = 1, .hint = {}});
  rkernel::Problem& problem = made.problem;
  problem.name = "matmul";
  problem.axes = {{"m", rows}, {"n", columns}, {"k", depth, rkernel::AxisKind::Reduction}};
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
  add("a", {depth, zero, one});
  add("b", {zero, one, columns});
  add("c", {columns, one, zero});
  problem.operands.back().written = true;
  rkernel::Expr sum;
  sum.op = rkernel::ExprOp::Accumulator;
  sum.dtype = DType::f32;
  problem.exprs.push_back(sum);
  problem.stores.push_back({0, 2});
  return made;
}

}  // namespace dyn::gpu_check
