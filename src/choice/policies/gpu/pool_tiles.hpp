#pragma once
// The pools of tiles from which TSCompiler and DietCode choose on a GPU.

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/dietcode/search.hpp"

namespace dyn::choice {

/// TSCompiler (section 5.1): hardware-aligned tiles, which its tuner starts from. Warps of 1, 2, 4
/// or 8 of the smallest rows, and blocks of 1, 2, 4 or 8 warps along each axis, in steps of 1, 2 or
/// 4 times depth_granule().
std::vector<GpuTile> aligned_gpu_tiles(const GpuMachine& machine,
                                       const std::vector<GpuKind>& kinds);
/// At most 40 of these (best_together()), by the wave model of its section 6, over products of 1 to
/// 4096 rows and columns.
std::vector<GpuTile> tscompiler_tiles(const GpuMachine& machine, const std::vector<GpuKind>& kinds);

/// DietCode (sections 3.1 and 4.2): what evolutionary search leaves of the shape-generic space,
/// which has every multiple of a warp along M and N, and of depth_granule() along K, that the GPU
/// holds. f_MK is that of one block on a multiprocessor, predicted.
std::vector<GpuTile> dietcode_tiles(const GpuMachine& machine, const GpuKind& kind);

/// f_MK (equation 3): multiply-adds of a tile's block in a second, in any unit.
using GpuTileSpeed = std::function<double(const GpuTile& tile)>;
struct EvolvedTiles {
  std::vector<GpuTile> tiles;
  std::size_t favourites = 0;  ///< as of EvolvedGenes
};
/// The same search with another f_MK and other shapes. `first`, of the space: the first generation
/// has them too.
EvolvedTiles evolved_tiles(const GpuMachine& machine, const GpuKind& kind,
                           const std::vector<ProductShape>& shapes, const GpuTileSpeed& speed,
                           const DietCodeSearch& search = {},
                           const std::vector<GpuTile>& first = {});
/// A tile of the space, not too large along any axis; nullopt where the draw is none.
std::optional<GpuTile> random_dietcode_tile(const GpuMachine& machine, const GpuKind& kind,
                                            std::mt19937_64& random);

}  // namespace dyn::choice
