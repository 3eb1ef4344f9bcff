#pragma once
// Tiles of fused attention on a GPU, and what they cost.

#include <cstdint>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

/// A block computes block_m rows of one element of the batch, over tiles of block_keys() keys. Its
/// warps stand in rows of warp_m, and `parts` of them share rows: each takes part_keys keys of
/// every tile, all of d, and all columns of the values. TensorCores: a warp has 16 rows. CudaCores:
/// 4 x 8 lanes, thread_m rows each.
struct GpuAttentionTile {
  Engine engine = Engine::CudaCores;
  DType operands = DType::f32;  ///< as they lie in shared memory; TensorCores with f32: TF32
  int warp_m = 16, block_m = 64;
  int part_keys = 32, parts = 1;
  int depth = 64, width = 64;  ///< room for d, and for columns of the values, in one tile
  int stages = 2;              ///< tiles of keys and values in shared memory at once
  bool operator==(const GpuAttentionTile&) const = default;

  int block_keys() const { return part_keys * parts; }
  int warps() const { return block_m / warp_m * parts; }
  int threads() const { return warp_lanes * warps(); }
  /// Rows of one thread: 2 on tensor cores, else those of its lane.
  int thread_rows() const { return engine == Engine::TensorCores ? 2 : warp_m / 4; }
  /// Blocks that the assembler is told to leave room for on one multiprocessor: it takes more
  /// registers than a thread needs where it may.
  int resident() const;
  /// The most that the assembler then gives a thread.
  int registers() const;
  /// Bytes in shared memory, multiples of 128: queries; keys or values of one stage; shares of
  /// CUDA cores, which other lanes read.
  int query_bytes() const;
  int key_bytes() const;
  int value_bytes() const;
  int share_bytes() const;
  /// Outputs of the block on their way to the epilogue: block_m rows of output_row_floats().
  int output_row_floats() const;
  int output_bytes() const;
  /// Maximum and sum of each row and part, where parts are merged.
  int statistic_bytes() const;
  /// The larger of what the loop over keys needs, and of what its end needs.
  int shared_bytes() const;
  /// Bytes in the launch's memory of one block's part of the keys, where blocks share rows: maximum
  /// and sum of each row, then the outputs of all; a multiple of 16.
  int part_bytes() const;
  std::string to_string() const;  ///< "bf16 tensor cores 64 rows, 64 keys, depth 64 and 64"
};

/// Rows of shares in shared memory are so many floats longer than they are, so that four of them
/// begin in different banks.
inline constexpr int share_padding = 8;

/// Room that tiles have for `size` of d or n: the next of a few widths; 0: none has so much.
int attention_room(std::int64_t size);

/// Candidates, in a fixed order, that fit the machine: 16 rows with four parts of the keys (fewer
/// rows on CUDA cores) for few queries, up to 128 rows for many; where none of these fits, 16 rows
/// alone. `operands` and `allow_tf32` as in
/// gpu_tiles(); f32 without TF32 takes CUDA cores, all else tensor cores.
std::vector<GpuAttentionTile> gpu_attention_tiles(const GpuMachine& machine, DType operands,
                                                  bool allow_tf32, int depth, int width);

/// Sizes and surroundings of one attention.
struct GpuAttention {
  std::int64_t batch = 1, queries = 0, keys = 0, depth = 0, width = 0;
  std::int64_t heads = 1;  ///< that share the keys and values of one element of the batch: their
                           ///< queries are rows of one tile
  bool causal = false, masked = false;
  double query_element_bytes = 4, key_element_bytes = 4, value_element_bytes = 4;
  bool vectors = true;                                 ///< all three are copied 16 bytes at a time
  double epilogue_operations = 1, epilogue_bytes = 4;  ///< for each output

  /// Rows of tiles that one element of the batch has.
  std::int64_t rows() const { return queries * heads; }
};

/// The share of all scores that a causal mask leaves.
double visible_share(const GpuAttention& shape);

/// The keys of each tile of rows are cut in `count` parts of `span` tiles of keys, the last one
/// with what is left, for a block each. Under a causal mask rows that see fewer keys have fewer
/// parts.
struct GpuKeyParts {
  std::int64_t count = 1, span = 0;  ///< one part: span does not matter
  bool operator==(const GpuKeyParts&) const = default;
};
/// Parts that the last block merges at once: it waits for memory twice for so many.
inline constexpr int merged_key_parts = 8;

/// Predicted seconds, launch included: layer_cost over the warp's step (both products and the
/// softmax between them), the pipeline of tiles of keys, and waves of blocks, each with what it
/// leaves for the others where they share rows; the traffic of all blocks against L2 and memory is
/// one more bound.
double gpu_attention_cost(const GpuMachine& machine, const GpuAttention& shape,
                          const GpuAttentionTile& tile, CostBreakdown* breakdown = nullptr,
                          const GpuKeyParts& parts = {});

struct GpuKeyChoice {
  GpuKeyParts parts;
  double seconds = 0;
};
/// The parts that cost least: one, or as many as fill the GPU with each number of blocks on a
/// multiprocessor, once or twice; several only where that is clearly better
/// (Calibration::gpu_worth_sharing). `may_share` is false: one.
GpuKeyChoice choose_key_parts(const GpuMachine& machine, const GpuAttention& shape,
                              const GpuAttentionTile& tile, bool may_share);

}  // namespace dyn::choice
