#pragma once
// A GPU as the cost model sees it, the tiles that it can hold, and what a contraction on it costs.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dyn/dtype.hpp"
#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

struct GpuStageTimes;

/// Numbers of one GPU: from its makers' documents (a described GPU), or asked from the driver.
struct GpuMachine {
  std::string name;             ///< "a100"
  std::string product;          ///< "NVIDIA A100-SXM4-80GB"
  int compute_capability = 80;  ///< 10 * major + minor
  int multiprocessors = 0;
  double clock_hz = 0;                                                   ///< boost
  int registers_per_multiprocessor = 65536, registers_per_thread = 255;  ///< of 32 bits
  int shared_bytes_per_multiprocessor = 0, shared_bytes_per_block = 0;
  int threads_per_multiprocessor = 2048, threads_per_block = 1024, blocks_per_multiprocessor = 32;
  // What one multiprocessor does in each cycle.
  double f32_fma = 0;      ///< multiply-adds on CUDA cores
  double f16_mma_fma = 0;  ///< multiply-adds on tensor cores, f16 and bf16, dense, by mma.sync
  double tf32_mma_fma = 0;
  double i8_mma_fma = 0;           ///< the same of integers of 8 bits, by mma.sync
  double shared_bytes = 128;       ///< read from shared memory
  double l2_bytes_per_cycle = 64;  ///< from L2 into one multiprocessor
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  double l2_bytes_per_second = 0, memory_bytes_per_second = 0;  ///< of the whole GPU
  double launch_seconds = 0;  ///< from the end of one kernel to the start of the next in a stream
  double memory_latency_seconds = 0;
  /// Tiles that were timed on this GPU (with_stage_times()); nullptr: none.
  std::shared_ptr<const GpuStageTimes> measured;
  bool operator==(const GpuMachine&) const = default;
};

/// Where the times of a machine's layers come from, for people: "predicted from the description of
/// NVIDIA H200; no layer is measured", or how many tiles have layers that are.
std::string origin_of_times(const GpuMachine& machine);

inline constexpr int warp_lanes = 32;

/// What multiplies.
enum class Engine : std::uint8_t { CudaCores, TensorCores };

/// K of one instruction of tensor cores: 32 bytes, where TF32 has 4.
inline int mma_depth(DType operands) { return 32 / static_cast<int>(size_of(operands)); }
/// Multiply-adds on tensor cores in each cycle of one multiprocessor; 0: it has none for these.
double mma_fma(const GpuMachine& machine, DType operands);

/// The tiles of a contraction at each layer. f32, f16 or bf16 operands and f32 accumulators, or
/// integers of 8 bits, each factor with or without sign, and i32 accumulators.
struct GpuTile {
  Engine engine = Engine::CudaCores;
  DType operands = DType::f32;  ///< as they lie in shared memory; CudaCores: f32. TensorCores: f32
                                ///< is TF32, and i8 stands for u8 too
  int thread_m = 8,
      thread_n =
          8;  ///< registers: of one thread (CudaCores), of one instruction (TensorCores: 16 x 8)
  int warp_m = 32, warp_n = 64;  ///< of one warp
  int block_m = 128, block_n = 128, block_k = 16;
  int stages = 2;      ///< of block_k in shared memory at once
  bool ahead = false;  ///< TensorCores: the first fragments of a stage are loaded while the last
                       ///< step of the stage before multiplies, where both operands are copied
                       ///< as vectors
  bool overlapped = false;  ///< the copies of a block's next tile begin before the outputs of this
                            ///< one are stored, through the one stage that these leave free; where
                            ///< both operands are copied as vectors
  int window_entry_bytes = 0;  ///< where A's rows are windows: kept in shared memory for each row
  int strip_bytes = 0;  ///< where a block copies the rows of the tensor that its windows slide over
                        ///< to shared memory first
  int sides = 1;  ///< right sides that the left one is multiplied by: each has an equal part of the
                  ///< block's columns, the same columns of each output
  int factor_registers = 0;  ///< of a thread, for elements that factors are computed from, on their
                             ///< way to shared memory
  auto operator<=>(const GpuTile&) const = default;

  int warps() const { return (block_m / warp_m) * (block_n / warp_n); }
  int threads() const { return warp_lanes * warps(); }
  int output_columns() const { return block_n / sides; }  ///< of a block
  bool integers() const { return operands == DType::i8; }
  /// Elements of a factor of this dtype have this one in shared memory.
  DType staged(DType factor) const { return integers() ? factor : operands; }
  /// Estimated, of one thread, where both operands are copied as vectors, or computed:
  /// accumulators, fragments, addresses.
  int registers() const;
  /// TensorCores, registers of a thread: of its sums, and of the fragments of one step of K.
  int accumulators() const;
  int fragments() const;
  /// TensorCores: accumulators leave a thread's registers room for another step's fragments.
  bool holds_fragments_ahead() const;
  /// Where a factor is copied as vectors, B with its rows along N: a thread's copies share no
  /// address, because threads are no multiple of the chunks in a row, and are too many to keep
  /// their own from stage to stage.
  bool computes_a_addresses() const;
  bool computes_b_addresses() const;
  /// Bytes of one stage of A and of B in shared memory, each a multiple of 128. TensorCores: rows
  /// without padding, swizzled. CudaCores: A has block_m rows of block_k + 4 floats, B block_k rows
  /// of block_n + 4 floats.
  int a_stage_bytes() const;
  int b_stage_bytes() const;
  /// Blocks may share its outputs (GpuSplit): a thread's registers have room for what that takes.
  bool can_be_shared() const { return sums_of_thread() <= 64; }
  int sums_of_thread() const { return block_m * block_n / threads(); }
  /// The outputs of a block go through shared memory in so many bands, each of equal parts of all
  /// warps' rows: 1 where all of its memory is free, else as few as fit one stage; 0: none does.
  int output_bands() const;
  int window_table_bytes() const { return block_m * window_entry_bytes; }
  /// 128 for barriers, then the larger of all stages and the epilogue's block_m rows (where these
  /// go through one stage, all stages), then the table of windows, then their strips.
  int shared_bytes() const;
  /// Words from one row of the outputs in shared memory to the next, so that lanes that store
  /// `side_by_side` of them at once (OutputPlaces) meet no bank twice: on tensor cores four rows of
  /// 8 columns in pairs, or two of 16 in fours.
  int epilogue_row_floats(int side_by_side) const;
  /// All outputs of a block, as they pass through shared memory.
  int epilogue_bytes() const;
  std::string to_string() const;  ///< "bf16 tensor cores 128x128x32, warps 64x32, 3 stages"
};

/// Rows of blocks that tickets go down before the next column of blocks: what runs at one time
/// reads few tiles of A and of B again and again.
inline constexpr int raster_rows = 8;
/// Steps of a reduction that blocks share are numbers of 32 bits.
inline constexpr std::int64_t most_shared_steps = std::int64_t{1} << 30;

/// How much of a multiprocessor blocks of this size fill.
struct Occupancy {
  int blocks = 0;          ///< resident on one multiprocessor; 0: the block does not fit
  const char* limit = "";  ///< "registers", "shared memory", "threads", "blocks"
};
Occupancy occupancy(const GpuMachine& machine, int threads, int registers, int shared_bytes);

/// Candidates bottom-up (Vortex, Algorithm 2), from the GPU's numbers alone: tiles of registers
/// that a thread can hold, warps and blocks that fit. `operands`: the dtype that the contraction
/// computes with; CUDA cores serve every one but integers, which need tensor cores. A fixed order.
std::vector<GpuTile> gpu_tiles(const GpuMachine& machine, DType operands, bool allow_tf32);

/// All tiles of one engine that gpu_tiles() picks from, with and without overlapped copies, in a
/// fixed order.
std::vector<GpuTile> every_gpu_tile(const GpuMachine& machine, Engine engine, DType operands);

/// The surroundings of one contraction on a GPU, beside its sizes.
struct GpuContraction {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;  ///< n: columns of all right sides (GpuTile::sides)
  double a_element_bytes = 4, b_element_bytes = 4;
  bool a_vectors = true, b_vectors = true;  ///< can be copied 16 bytes at a time by a tile whose
                                            ///< dtype has as many bytes; else by element
  bool a_words = false, b_words = false;    ///< of fewer than 4 bytes, are copied 4 at a time
  /// Instructions that compute an element of the factor from what its element bytes hold, where a
  /// tile is loaded; 0: it is copied.
  double a_operations = 0, b_operations = 0;
  bool windows = false;  ///< rows of A are windows
  double a_strips = 0;   ///< elements that a block copies of the tensor for each element of its
                         ///< windows, where it takes these from shared memory; 0: it does not
  double a_overlap = 1;  ///< elements of all windows for each element of their tensor
  double epilogue_operations = 1;  ///< instructions for each output
  double epilogue_bytes = 8;       ///< read and written for each output
  bool operator==(const GpuContraction&) const = default;
};

/// Layers 0 and 1 of a tile (Vortex, section 5), timed: one stage of its main loop, both operands
/// in the multiplied dtype, copied as vectors from L2.
struct GpuStageTime {
  GpuTile tile;
  int resident = 1;  ///< blocks on each multiprocessor that fit
  double alone = 0,  ///< seconds from one stage to the next, one block on each multiprocessor
      full = 0;      ///< the same with `resident` blocks on each
  double alone_over_predicted = 1, full_over_predicted = 1;  ///< by with_stage_times()
};
/// All that were timed on a GPU.
struct GpuStageTimes {
  /// The geometric mean of measured over predicted of the tiles of one kind.
  struct Typical {
    Engine engine;
    DType operands;
    double over_predicted;
  };
  std::vector<GpuStageTime> tiles;
  std::vector<Typical> typical;
};
/// Sizes of a block of that form, `k` deep.
GpuContraction timed_form(const GpuTile& tile, std::int64_t k);
/// The machine with these figures in place of the predicted ones: gpu_wave() multiplies layers 0
/// and 1 of a tile in every form by measured over predicted of the timed form; those of a tile that
/// was not timed by what is typical of its kind, so that no tile gains by not having been timed.
GpuMachine with_stage_times(GpuMachine machine, std::vector<GpuStageTime> times);
/// nullptr: its layers are predicted.
const GpuStageTime* stage_time(const GpuMachine& machine, const GpuTile& tile);

/// Predicted seconds, launch included: waves of blocks over multiprocessors x occupancy as the grid
/// layer's F_parallel, the pipeline of stages as the shared layer, the warps' multiply-adds as the
/// lowest (the same layer_cost as on a CPU).
double gpu_contraction_cost(const GpuMachine& machine, const GpuContraction& shape,
                            const GpuTile& tile, CostBreakdown* breakdown = nullptr);

/// The last tiles of a region, which blocks share: each block has `span` steps of block_k, and goes
/// from tile to tile with them. 0 tiles: every block has all of K.
struct GpuSplit {
  std::int64_t tiles = 0, span = 0;
  bool operator==(const GpuSplit&) const = default;
  /// Blocks, where all of K is so many steps.
  std::int64_t blocks(std::int64_t steps) const {
    return tiles == 0 ? 0 : (tiles * steps + span - 1) / span;
  }
};

/// A region of the output, with the tile that computes it.
struct GpuPart {
  GpuContraction shape;  ///< of the region: its rows and columns, for each of the batch
  GpuTile tile;
  std::int64_t m_begin = 0, n_begin = 0;
  GpuSplit split = {};
};
/// The part of a GPU that a kernel of these tiles fills: one block of it has threads and room for
/// each.
Occupancy program_occupancy(const GpuMachine& machine, std::span<const GpuTile> tiles);
/// The same for one region, or for two in one launch, the tickets of the first before those of the
/// second: blocks take them round robin, and the one that has most to do ends last. Traffic is that
/// of both, with what L2 keeps for the second region read once.
double gpu_program_cost(const GpuMachine& machine, std::span<const GpuPart> regions,
                        CostBreakdown* breakdown = nullptr);

/// The same for a kernel without a contraction: bytes against bandwidth, instructions against
/// issue, waves.
double gpu_loop_cost(const GpuMachine& machine, double elements, double bytes,
                     double operations_per_element, std::int64_t blocks, int threads);

struct GpuChoice {
  int tile = -1;  ///< index into the candidates
  double seconds = 0;
};
/// The cheapest of `tiles` that fits the machine; ties (Calibration::gpu_equal_within) go to the
/// earlier. tile -1: none fits.
/// `shape_for`, where given, is the contraction as that tile would meet it.
using GpuShapeFor = std::function<GpuContraction(const GpuTile&)>;
GpuChoice select_gpu_tile(const GpuMachine& machine, const GpuShapeFor& shape_for,
                          const std::vector<GpuTile>& tiles);
GpuChoice select_gpu_tile(const GpuMachine& machine, const GpuContraction& shape,
                          const std::vector<GpuTile>& tiles);

}  // namespace dyn::choice
