#pragma once
// Tiles of dyn beyond its candidates. Code of candidates is listed when a problem is prepared; code
// of these is made when a plan takes one.

#include <memory>
#include <vector>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

/// The tiles that lower the mean logarithm of the least predicted time most, beside the candidates:
/// over synthetic problems of sizes that are spread evenly on a logarithmic scale, few rows and
/// columns among them, with either factor copied as vectors or by element. They are of the engine
/// and dtype of the first candidate: warps_by_isa(), on CUDA cores with lanes in 16 and 32 rows
/// too, in blocks of up to 8 warps, with stages of up to 16 steps of their instruction. From the
/// GPU's numbers alone, as described or asked; in a fixed order. Remembers the last ones that it
/// made; thread-safe.
std::shared_ptr<const std::vector<GpuTile>> late_gpu_tiles(const GpuMachine& machine,
                                                           const std::vector<GpuTile>& candidates);

}  // namespace dyn::choice
