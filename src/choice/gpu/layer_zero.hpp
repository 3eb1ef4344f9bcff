#pragma once
// Tiles of a GPU from the warp up, as the papers' policies put them together: everything that the
// emitters have code for, by no other rule.

#include <cstdint>
#include <optional>
#include <vector>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

/// An engine, and the dtype of the factors in shared memory.
struct GpuKind {
  Engine engine = Engine::CudaCores;
  DType operands = DType::f32;
  bool operator==(const GpuKind&) const = default;
};
/// Those of some tiles, in their order.
std::vector<GpuKind> kinds_of(const std::vector<GpuTile>& tiles);

/// Outputs of a block are divided among so many warps at most: 1024 threads.
inline constexpr int most_block_warps = 32;

/// A warp of CUDA cores: 32 lanes in `lane_rows` rows, each with `rows` x `columns` outputs.
GpuTile cuda_warp(int lane_rows, int rows, int columns);
/// A warp of tensor cores; nothing where its registers do not hold the outputs, or the emitters
/// have no such width: a power of two, 16 or more.
std::optional<GpuTile> tensor_warp(DType operands, int rows, int columns);
/// A thread has registers for so many outputs, and for the fragments beside them.
bool registers_hold(int rows, int columns);

/// Layer 0, what a warp computes at a time, with its instruction in thread_m x thread_n and no
/// block yet: 16 rows by 1, 2, 3, 4, 6, 8, and 16 columns by 1, 2, 4, 8 on tensor cores, whose
/// instruction multiplies 16 x 8; on CUDA cores 1, 2, 3, 4, 6, 8 rows and whole vectors of 4
/// columns of a lane, with the lanes in 1, 2, 4 or 8 rows. All that a thread's registers hold.
std::vector<GpuTile> warps_by_isa(const GpuKind& kind);

/// K of one step of the instruction; on CUDA cores, of a copy of 32 bytes.
int depth_granule(const GpuKind& kind);

/// The tile with so many stages; fragments are loaded ahead where there are enough for it, with
/// fewer of which a stage's copies would have less time than one stage takes, and where a thread
/// has registers for them.
GpuTile at_stages(GpuTile tile, int stages);
/// Numbers of stages that the papers' spaces have.
inline constexpr int few_stages[] = {2, 3, 4};

/// A tile, and its seconds of one stage of a GPU that is full, over the blocks that share it.
struct RatedTile {
  GpuTile tile;
  double seconds = 0;
};
/// The tile with one of few_stages, whichever takes the least time, of equal ones the fewest;
/// nothing where none fits the GPU.
std::optional<RatedTile> with_stages(const GpuMachine& machine, GpuTile tile);

}  // namespace dyn::choice
