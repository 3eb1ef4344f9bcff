#pragma once
// A plain matrix product, as kernels that are timed or checked by themselves have it.

#include "graph/dims/dim.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// c[m, n] = a[m, k] b[k, n], row-major without padding, all in one dtype, sums in f32. Operands a,
/// b, c with buffers 0, 1, 2; axes m, n, k.
rkernel::Problem product_problem(DType dtype, graph::Dim m, graph::Dim n, graph::Dim k);

}  // namespace dyn::ptx
