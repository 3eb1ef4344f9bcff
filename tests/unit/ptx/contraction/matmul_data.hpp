#pragma once
// Operands of a matrix product with random values, and the expected results of plain loops in
// double.

#include <cstddef>
#include <random>
#include <vector>

#include "tests/unit/ptx/contraction/matmul_case.hpp"

namespace dyn::ptx::testing {

using Bytes = std::vector<std::byte>;

/// Draws the dtypes of a form whose copies and epilogue are set; bytes have a sign or none, and no
/// residual is added to what is requantised.
void draw_dtypes(MatmulCase& c, std::mt19937_64& random);

/// One for each operand of the problem, in its order. The output is filled with a pattern that no
/// kernel writes.
std::vector<Bytes> random_buffers(const MatmulCase& c, std::mt19937_64& random);

/// The largest error over the bound (K + 4) * eps * (sum of |a| |b| + 4), plus the rounding of the
/// output's dtype; more than 1 is a defect. Integers must be equal. Infinite where the kernel wrote
/// anything but the output's elements. The loops multiply a and b as rounded to the tile's dtype.
double worst_error(const MatmulCase& c, const std::vector<Bytes>& buffers, const Bytes& output);

/// True where an f32 output without epilogue has the bits of one loop of fused multiply-adds for
/// each element, K ascending.
bool is_fma_loop(const MatmulCase& c, const std::vector<Bytes>& buffers, const Bytes& output);

/// test_seed, else a fixed one.
std::uint64_t contraction_seed();

}  // namespace dyn::ptx::testing
