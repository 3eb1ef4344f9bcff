#pragma once
// FTuner's uKernels on a GPU, made for one workload (section IV, Algorithm 1).

#include <vector>

#include "src/choice/policies/ftuner/ukernels.hpp"
#include "src/choice/policies/gpu/layer_zero.hpp"
#include "src/choice/policies/gpu/tile_rates.hpp"

namespace dyn::choice {

/// Blocks in the memory of one multiprocessor at a time, by default (the paper's zeta, on V100).
inline constexpr int ftuner_zeta = 2;

/// SmemTileRule: outputs of a block along both axes. Factors of M in rows (tensor cores: in units of
/// 16), and of N in vectors of 4 columns (16), up to 256; k is 0.
std::vector<MicroKernel> aligned_blocks(const ProductShape& shape, const GpuKind& kind);

/// The tiles of a block. Register tiles (RegTileRule): a thread's outputs on CUDA cores, a warp's on
/// tensor cores, whose extents are factors of the axes too. The block is expanded along K by
/// depth_granule() * 2^i as long as two stages of `ftuner_zeta` blocks fit the shared memory of a
/// multiprocessor, and K has so much.
std::vector<GpuTile> aligned_tiles(const GpuMachine& machine, const ProductShape& shape,
                                   const GpuKind& kind, const MicroKernel& block);

/// SetBound (equation 4): registers for so many blocks on a multiprocessor are there, the least of
/// ftuner_zeta and what the workload has for each.
bool within_bound(const GpuMachine& machine, const GpuTile& tile, const ProductShape& shape);

/// CrossPick; SetBound; equation 5, ftuner_zeta blocks for each multiprocessor; equation 6. A filter
/// that would leave nothing leaves all. Of uKernels with equal scores the first is taken, so they
/// stand in the order of the time that a multiply-add of a full GPU takes.
std::vector<GpuTile> ftuner_tiles(const TileRates& rates, const ProductShape& shape,
                                  const GpuKind& kind, const GpuShapeFor& form,
                                  const FTunerParameters& parameters = {});

}  // namespace dyn::choice
