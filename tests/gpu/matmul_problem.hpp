#pragma once
// A plain matrix product as a model has it: M a symbol, N and K constants, row-major without
// padding.

#include <memory>

#include "graph/dims/dim.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::gpu_check {

struct MatmulProblem {
  std::unique_ptr<graph::DimTable> dims;
  rkernel::Problem problem;  ///< operands a, b, c; one symbol: M
};
MatmulProblem matmul_problem(DType dtype, std::int64_t n, std::int64_t k);

}  // namespace dyn::gpu_check
