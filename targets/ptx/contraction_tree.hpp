#pragma once
// The rKernel of a contraction on a GPU.

#include "src/rkernel/gpu.hpp"
#include "src/rkernel/layer.hpp"

namespace dyn::ptx {

/// Layers, nearest first:
///   registers  m, n (and k) of one thread (CUDA cores: thread_m x thread_n x 1) or one instruction (tensor cores: 16 x 8 x 16, TF32: x 8)
///   warp       m and n of one warp (CUDA cores: Parallel over lanes; tensor cores: TemporalSpatial), k of one stage (TemporalReduction)
///   block      m and n of one block, Parallel over warps
///   shared     k by stages (TemporalReduction), with the moves of A and B from the grid's memory, in `stages` buffers
///   grid       batch axes, m and n by blocks, Parallel over blocks
inline constexpr int register_layer = 0, warp_layer = 1, block_layer = 2, shared_layer = 3, grid_layer = 4;
rkernel::RKernel contraction_tree(const rkernel::Problem& problem, const rkernel::GpuTile& tile, const rkernel::GpuMachine& machine);

/// The tiles that a tree has: contraction_tree() backwards. `operands` and `engine` follow from the registers' shape.
rkernel::GpuTile tile_of(const rkernel::RKernel& kernel);

}  // namespace dyn::ptx
