#pragma once
// The limits of a GPU, from the numbers of the cost model.

#include <string>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::cli {

/// The rate of all multiprocessors together, each with so many multiply-adds in a cycle.
double flops_per_second(const choice::GpuMachine& gpu, double fma);

/// No program in this precision ("f32", "tf32", "f16", "bf16") takes fewer seconds: it must
/// compute, and stream from the GPU's memory.
double limit_seconds(const choice::GpuMachine& gpu, const std::string& precision, double flops,
                     double bytes);

}  // namespace dyn::cli
