#pragma once
// The rKernel of fused attention on a GPU.

#include "src/choice/gpu/attention.hpp"
#include "src/rkernel/tree/layer.hpp"

namespace dyn::ptx {

/// Layers, nearest first. A loop's tile is what one of its iterations covers:
///   registers  d, keys, m, n of one thread (CUDA cores: 4, 4, thread_rows(), width / 8) or of one
///              instruction (tensor cores: 16, 16, 16, 8; TF32: 8, 8, 16, 8)
///   warp       keys and d by the registers' tiles (TemporalReduction), m and n (CUDA cores:
///              Parallel over lanes; tensor cores: TemporalSpatial); 32 units, the lanes
///   block      m by warp_m, keys by part_keys, Parallel; as many units as warps
///   shared     keys by block_keys (TemporalReduction), with the moves of keys and values, in
///              `stages` buffers; carries maximum, sum and accumulator of each row
///   grid       batch axes by 1, m by block_m and n by width, Parallel over blocks, with the move
///              of the queries
/// With `heads`, a batch axis, all loops over m count its indices too, inside those of m.
inline constexpr int attention_registers = 0, attention_warp = 1, attention_block = 2,
                     attention_shared = 3, attention_grid = 4;
rkernel::RKernel attention_tree(const rkernel::Problem& problem,
                                const choice::GpuAttentionTile& tile, int heads,
                                const choice::GpuMachine& machine);

/// Reads the tiles from a tree: the inverse of attention_tree(), but for the room for d, which no
/// loop cuts: it is `depth`.
choice::GpuAttentionTile attention_tile_of(const rkernel::RKernel& kernel, int depth);
/// The axis that the loops over m count with it, or -1.
int attention_heads_of(const rkernel::RKernel& kernel);

}  // namespace dyn::ptx
