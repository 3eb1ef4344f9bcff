#pragma once
// The rKernel of a contraction on a GPU.

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/tree/layer.hpp"

namespace dyn::ptx {

/// Layers, nearest first. A loop's tile is what one of its iterations covers:
///   registers  k, m, n of one thread (CUDA cores: 1, thread_m, thread_n) or of one instruction
///   (tensor cores: 16, 16, 8; TF32: 8, 16, 8; bytes: 32, 16, 8) warp       m and n by the
///   registers' tiles (CUDA cores: Parallel over lanes; tensor cores: TemporalSpatial), k of one
///   stage
///              (TemporalReduction); 32 units, the lanes
///   block      m and n by warp_m and warp_n, Parallel; as many units as warps
///   shared     k by block_k (TemporalReduction), with the moves of A and B from the grid's memory,
///   in `stages` buffers, with the dtype
///              that they have there; n counts the columns of all right sides, and the move of B
///              brings the tiles of all
///   grid       batch axes by 1, m and n by block_m and block_n, Parallel over blocks
inline constexpr int register_layer = 0, warp_layer = 1, block_layer = 2, shared_layer = 3,
                     grid_layer = 4;
rkernel::RKernel contraction_tree(const rkernel::Problem& problem, const choice::GpuTile& tile,
                                  const choice::GpuMachine& machine);

/// Reads the tiles from a tree: the inverse of contraction_tree(). Everything that generates code
/// gets the tiles through this.
choice::GpuTile tile_of(const rkernel::RKernel& kernel);

/// Limits that every GPU from compute capability 8.0 on satisfies.
rkernel::Limits architecture_limits();

}  // namespace dyn::ptx
