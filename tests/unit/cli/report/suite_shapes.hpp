#pragma once
// Lines of suites as a GPU's cost model meets them.

#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/cli/op/suite.hpp"

namespace dyn::testing {

/// A contraction of a suite on one GPU. Both operands and the result are of the multiplied dtype
/// (f32 for tf32), rows side by side.
struct SuiteShape {
  choice::GpuShapeFor shape_for;  ///< as each of the tiles would meet it
  std::vector<choice::GpuTile> tiles;
  double flops = 0;
  double bytes = 0;  ///< each operand and the result, once; less what no window needs
};

/// Of a matrix product. Nothing may be transposed.
SuiteShape matmul_shape(const cli::OpCase& line, DType operands,
                        const std::vector<choice::GpuTile>& tiles);

/// Of a convolution whose channels are innermost; the line has a value for the batch. Groups are
/// the contraction's batch. Tiles have the memory that windows take, and are those that can
/// copy windows; windows of few channels come from strips where they can.
SuiteShape conv_shape(const cli::OpCase& line, DType operands,
                      const std::vector<choice::GpuTile>& tiles);

}  // namespace dyn::testing
