#include "tests/gpu/matmul_problem.hpp"

#include "targets/ptx/measure/product_problem.hpp"

namespace dyn::gpu_check {

MatmulProblem matmul_problem(DType dtype, std::int64_t n, std::int64_t k) {
  MatmulProblem made;
  made.dims = std::make_unique<graph::DimTable>();
  graph::DimTable& dims = *made.dims;
  const graph::Dim rows =
      dims.symbol({.name = "M", .low = 0, .high = 1 << 24, .divisor = 1, .hint = {}});
  made.problem = ptx::product_problem(dtype, rows, dims.constant(n), dims.constant(k));
  return made;
}

}  // namespace dyn::gpu_check
