#pragma once
// What a real GPU gave for small kernels and fixed inputs, kept in tests/golden/gpu, so that the
// emulator is held to the machine and not only to the manual. `dyn-gpu-check record` writes a file.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ops/scalar_ops.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/ptx_device.hpp"
#include "tests/support/device/kernel_text.hpp"

namespace dyn::test {

using Words = std::vector<std::uint32_t>;

/// One warp in each block; operands: the input, and the output, which the kernel writes wholly.
struct RecordedKernel {
  std::string name;
  KernelText text;
  int blocks = 1;
  Words input;
  std::size_t output_words = 0;
};

/// The device's own instructions: tensor cores, matrix loads, shuffles, conversions, arithmetic.
std::vector<RecordedKernel> recorded_kernels();

/// The output of one launch.
Words run(ptx::PtxDevice& device, const RecordedKernel& kernel);

/// The approximating instructions, whose results GPUs may differ in: for each word of input two of
/// output, 2^x and 1 / x.
RecordedKernel approximation_kernel();

/// The largest distances from the rounded results, in ulp, of its output.
struct ApproximationErrors {
  double exp2, reciprocal;
};
ApproximationErrors errors_of(const RecordedKernel& approximations, const Words& output);

/// The scalar operators of f32 that approximate nothing.
std::vector<graph::ScalarOpInfo> recorded_functions();

/// The results of an operator on "cuda" or "emulator" for fixed operands, small numbers and any
/// bits among them; each NaN as the same one.
Words results_of(const graph::ScalarOpInfo& function, const std::string& device);

/// The largest error, in ulp, of a function on "cuda" or "emulator" for the same operands.
double largest_error(const codegen::ApproximateFunction& function, const std::string& device);

/// A number for a sequence of words that hardly any other has (FNV-1a).
std::string hash_of(const Words& words);

}  // namespace dyn::test
