#include "src/choice/gpu/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "src/base/rounding.hpp"

namespace dyn::choice {
namespace {

constexpr int stage_alignment = 128;  ///< bytes
constexpr int barrier_bytes = 128;    ///< before all stages
constexpr int row_padding = 4;        ///< floats after a row, so that rows start in different banks
constexpr int mma_row_padding = 4;    ///< the same for each output that a lane stores at once
constexpr int most_side_by_side = 4, pair = 2;
constexpr int banks = 32;            ///< of shared memory, a word each
constexpr int most_registers = 255;  ///< of one thread, on every GPU so far
/// Where these run out ptxas loads fewer fragments ahead: it takes 221 to 255, by architecture.
constexpr int crowded_registers = 240;
// What ptxas adds to accumulators and fragments: pointers, places of copies, counters, and the
// epilogue.
constexpr int cuda_core_registers = 104, tensor_core_registers = 68;
constexpr int overlapped_registers = 10;  ///< more where the next tile's copies stand beside them
constexpr int window_registers = 32;  ///< more for windows: digits of K, distances, entries of rows
constexpr int window_ahead_registers = 12;  ///< more where the next stage's places are kept as well
constexpr int steps_in_flight =
    3;  ///< of an instruction's depth, whose fragments ptxas has loaded ahead
/// With more of two steps' fragments and accumulators ptxas spills.
constexpr int most_fragment_registers = 200;
constexpr int step_registers = 4;  ///< of one step in rows of no power of two bytes
constexpr int octet = 8;  ///< rows of a warp whose outputs lie in one accumulator of its lanes
constexpr int access_floats = 4;  ///< of one load of 128 bits
constexpr int register_granule =
    8;  ///< registers of a thread are given in units of 8 (CUDA occupancy calculator)
constexpr int shared_reserved_bytes =
    1024;  ///< kept by the system for each block, compute capability 8.0 and later

constexpr int chunk_bytes = 16;
constexpr int most_straight_copies = 8;  ///< of one thread without a loop (TileCopy)
constexpr int address_registers = 5;     ///< of a copy that shares none: source, place, what exists

/// The chunks of one operand in a stage, and the threads that copy them.
struct StageChunks {
  int rows, in_row, threads;

  int of_thread() const { return (rows * in_row + threads - 1) / threads; }
  bool share_addresses() const { return of_thread() == 1 || threads % in_row == 0; }
  /// Those that a thread keeps from stage to stage: copies in a loop compute them each time.
  int kept_addresses() const {
    int straight = std::min(of_thread(), most_straight_copies);
    while (of_thread() % straight != 0) --straight;
    return share_addresses() || straight < of_thread() ? 0 : straight;
  }
  bool compute_addresses() const { return !share_addresses() && kept_addresses() == 0; }
};

StageChunks a_chunks(const GpuTile& tile) {
  const int size = static_cast<int>(size_of(tile.operands));
  return {tile.block_m, std::max(1, tile.block_k * size / chunk_bytes), tile.threads()};
}
StageChunks b_chunks(const GpuTile& tile) {
  const int size = static_cast<int>(size_of(tile.operands));
  return {tile.block_k, std::max(1, tile.block_n * size / chunk_bytes), tile.threads()};
}

/// Places of fragments, where swizzled rows of no power of two bytes leave each step its own.
int odd_step_registers(const GpuTile& tile) {
  const auto row_bytes =
      static_cast<unsigned>(tile.block_k) * static_cast<unsigned>(size_of(tile.operands));
  return std::has_single_bit(row_bytes)
             ? 0
             : step_registers * (tile.block_k / mma_depth(tile.operands));
}

int whole_stage_bytes(int bytes) { return static_cast<int>(round_up(bytes, stage_alignment)); }

}  // namespace

double mma_fma(const GpuMachine& machine, DType operands) {
  switch (size_of(operands)) {
    case 1: return machine.i8_mma_fma;
    case 2: return machine.f16_mma_fma;
    default: return machine.tf32_mma_fma;
  }
}

bool GpuTile::computes_a_addresses() const { return a_chunks(*this).compute_addresses(); }
bool GpuTile::computes_b_addresses() const { return b_chunks(*this).compute_addresses(); }

// Fitted to what ptxas 13.0 gives the candidates for an A100; contraction_ptxas_test holds it to
// that.
int GpuTile::registers() const {
  const int of_windows =
      window_entry_bytes > 0 ? window_registers + (ahead ? window_ahead_registers : 0) : 0;
  const int of_addresses =
      address_registers * (a_chunks(*this).kept_addresses() + b_chunks(*this).kept_addresses());
  if (engine == Engine::CudaCores) {
    // Fragments of A and of B for the steps of K of one access.
    return std::min(most_registers, thread_m * thread_n + access_floats * (thread_m + thread_n) +
                                        cuda_core_registers + of_windows + of_addresses +
                                        factor_registers);
  }
  return std::min(crowded_registers, accumulators() + steps_in_flight * fragments() +
                                         tensor_core_registers + of_windows + of_addresses +
                                         odd_step_registers(*this) + factor_registers +
                                         (overlapped ? overlapped_registers : 0));
}

bool GpuTile::holds_fragments_ahead() const {
  return accumulators() + 2 * fragments() <= most_fragment_registers;
}

// An instruction holds 4 registers for 16 rows or columns and 2 for 8; the accumulators of a warp
// are spread over its lanes.
int GpuTile::accumulators() const { return warp_m * warp_n / warp_lanes; }
int GpuTile::fragments() const {
  return (warp_m / thread_m * thread_m + warp_n / thread_n * thread_n) / 4;
}

int GpuTile::a_stage_bytes() const {
  const int size = static_cast<int>(size_of(operands));
  return whole_stage_bytes(block_m * (block_k + (engine == Engine::CudaCores ? row_padding : 0)) *
                           size);
}

int GpuTile::b_stage_bytes() const {
  const int size = static_cast<int>(size_of(operands));
  return whole_stage_bytes(block_k * (block_n + (engine == Engine::CudaCores ? row_padding : 0)) *
                           size);
}

int GpuTile::epilogue_bytes() const {
  return block_m * epilogue_row_floats(integers() ? most_side_by_side : pair) *
         static_cast<int>(sizeof(float));
}

// Warps of tensor cores have their outputs 8 rows by 8; threads of CUDA cores theirs among all rows
// of a warp.
int GpuTile::output_bands() const {
  if (!overlapped) return 1;
  const int bytes = epilogue_bytes(), most = engine == Engine::TensorCores ? warp_m / octet : 1;
  for (int bands = 1; bands <= most; bands *= 2) {
    if (most % bands == 0 && bytes / bands <= a_stage_bytes() + b_stage_bytes()) return bands;
  }
  return 0;
}

int GpuTile::shared_bytes() const {
  return barrier_bytes +
         std::max(stages * (a_stage_bytes() + b_stage_bytes()), overlapped ? 0 : epilogue_bytes()) +
         window_table_bytes() + strip_bytes;
}

int GpuTile::epilogue_row_floats(int side_by_side) const {
  // Lanes of swapped instructions have neighbouring columns of every second row.
  if (engine == Engine::CudaCores || thread_n > thread_m) return block_n + row_padding;
  const int words = block_n + mma_row_padding * side_by_side;
  return words % banks == 0 ? block_n : words;
}

std::string GpuTile::to_string() const {
  const std::string_view dtype =
      engine == Engine::TensorCores && operands == DType::f32 ? "tf32" : name_of(operands);
  std::string text = fmt::format("{} {} cores {}x{}x{}, warps {}x{}", dtype,
                                 engine == Engine::TensorCores ? "tensor" : "CUDA", block_m,
                                 block_n, block_k, warp_m, warp_n);
  if (engine == Engine::CudaCores) text += fmt::format(", threads {}x{}", thread_m, thread_n);
  return text + fmt::format(", {} stages{}{}", stages, ahead ? ", fragments ahead" : "",
                            overlapped ? ", overlapped" : "");
}

std::string origin_of_times(const GpuMachine& machine) {
  const std::string& product = machine.product.empty() ? machine.name : machine.product;
  if (machine.measured == nullptr)
    return fmt::format("predicted from the description of {}; no layer is measured", product);
  return fmt::format(
      "predicted from the description of {}; layers 0 and 1 of {} tiles are measured on it",
      product, machine.measured->tiles.size());
}

Occupancy occupancy(const GpuMachine& machine, int threads, int registers, int shared_bytes) {
  if (threads > machine.threads_per_block) return {0, "threads"};
  if (registers > machine.registers_per_thread) return {0, "registers"};
  if (shared_bytes > machine.shared_bytes_per_block) return {0, "shared memory"};
  Occupancy least{machine.blocks_per_multiprocessor, "blocks"};
  const auto limit = [&](int blocks, const char* by) {
    if (blocks < least.blocks) least = {blocks, by};
  };
  limit(machine.threads_per_multiprocessor / std::max(1, threads), "threads");
  limit(machine.registers_per_multiprocessor /
            std::max(1, threads * static_cast<int>(round_up(registers, register_granule))),
        "registers");
  limit(machine.shared_bytes_per_multiprocessor / (shared_bytes + shared_reserved_bytes),
        "shared memory");
  return least;
}

}  // namespace dyn::choice
