#pragma once
// What a GPU can do at most, from the numbers of the cost model.

#include <string>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::cli {

/// Of all multiprocessors, each with so many multiply-adds in a cycle.
double flops_per_second(const choice::GpuMachine& gpu, double fma);

/// Seconds below which no program in this precision ("f32", "tf32", "f16", "bf16") can be:
/// computing, or streaming from the GPU's memory.
double limit_seconds(const choice::GpuMachine& gpu, const std::string& precision, double flops,
                     double bytes);

}  // namespace dyn::cli
