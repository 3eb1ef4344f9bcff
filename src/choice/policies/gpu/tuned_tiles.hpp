#pragma once
// Tiles of papers' policies on a GPU that a tuner found.

#include <optional>
#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/rkernel/target/tuning.hpp"

namespace dyn::choice {

/// `[engine, dtype of the operands, thread rows, thread columns, warp rows, warp columns, block
/// rows, block columns, step of K, stages]`, and back.
PoolKernel numbers_of(const GpuTile& tile);
/// Throws std::invalid_argument for numbers of another kind.
GpuTile tile_of(const PoolKernel& kernel);

/// Describes why a tile is none of the papers' spaces for these kinds (layer_zero.hpp), or does not
/// fit the GPU; empty for one that is.
std::string wrong_with(const GpuMachine& machine, const std::vector<GpuKind>& kinds,
                       const GpuTile& tile);

struct TunedTiles {
  std::vector<GpuTile> tiles;
  std::vector<ProductShape> sampled;  ///< the shapes that the tuner searched for
};

/// A policy's; nullopt where the tuning has none. Throws Error(user) that names the file, where
/// there is no code for a tile, contractions multiply with something else, or the text is broken.
std::optional<TunedTiles> tuned_tiles(const GpuMachine& machine, const std::vector<GpuKind>& kinds,
                                      const rkernel::Tuning& tuning, rkernel::Policy policy);

}  // namespace dyn::choice
