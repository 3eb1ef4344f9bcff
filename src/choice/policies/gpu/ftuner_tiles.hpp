#pragma once
// FTuner's uKernels on a GPU, made for one workload (section IV, Algorithm 1).

#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/ftuner/ukernels.hpp"
#include "src/choice/policies/gpu/tile_rates.hpp"

namespace dyn::choice {

/// Blocks in the memory of one multiprocessor at a time, by default (the paper's zeta, on V100).
inline constexpr int ftuner_zeta = 2;

/// HardwareAlign: extents are factors of both axes (axis_factors()), in units of the 16 rows and
/// columns of a warp's instructions on tensor cores; on CUDA cores in units of what 32 lanes cover
/// with one row and 4 columns each, in every grid of lanes. (The paper's threads need not come in
/// warps.) Register tiles (RegTileRule): a thread's outputs, on tensor cores a warp's. Blocks
/// (SmemTileRule): multiples of these up to 256, expanded along K by depth_granule() * 2^i as long
/// as two stages of `ftuner_zeta` blocks fit the shared memory of a multiprocessor, and K has so
/// much.
std::vector<GpuTile> aligned_tiles(const GpuMachine& machine, const ProductShape& shape,
                                   const GpuKind& kind);

/// SetBound (equation 4): registers for so many blocks on a multiprocessor are there, the least of
/// ftuner_zeta and what the workload has for each.
bool within_bound(const GpuMachine& machine, const GpuTile& tile, const ProductShape& shape);

/// CrossPick; SetBound; equation 5, ftuner_zeta blocks for each multiprocessor; equation 6. A
/// filter that would leave nothing leaves all. Where scores are equal the first is taken, so
/// uKernels stand in the order of the time that a multiply-add of a full GPU takes.
std::vector<GpuTile> ftuner_tiles(const TileRates& rates, const ProductShape& shape,
                                  const GpuKind& kind, const GpuShapeFor& form,
                                  const FTunerParameters& parameters = {});

}  // namespace dyn::choice
