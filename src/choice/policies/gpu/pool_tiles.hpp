#pragma once
// The pools of tiles from which TSCompiler and DietCode choose on a GPU.

#include <vector>

#include "src/choice/gpu/layer_zero.hpp"

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

}  // namespace dyn::choice
